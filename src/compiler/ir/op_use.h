// What inference looks at: an op that may not exist yet, and the checks its rules share.
#pragma once
#include <span>
#include <string>

#include "compiler/ir/module.h"
#include "core/integers.h"
#include "core/status.h"

namespace tercel::ir {

using Types = std::vector<Type>;

struct OpUse {
  const Module& module;
  OpKind kind;
  std::span<const Value> operands;
  std::span<const std::pair<AttrKey, Attr>> attrs;
  std::span<const RegionId> regions;
  std::span<const Type> declared;

  size_t count() const { return operands.size(); }
  const Type& type(size_t i) const { return module.type(operands[i]); }
  const Shape& shape(size_t i) const { return type(i).shape; }
  const Dims& dims(size_t i) const { return shape(i).dims; }
  const Region& region(size_t i) const { return module.region(regions[i]); }
  // Missing attributes read as Op's do: 0, "", {}.
  const Attr* find(AttrKey key) const;
  int64_t integer(AttrKey key) const;
  const Ints& ints(AttrKey key) const;
  std::string_view symbol(AttrKey key) const;

  std::string describe() const;  // add(f32[4], f32[5])
  template <class... Args>
  Status error(const Args&... args) const {
    return invalidArgument(describe(), ": ", args...);
  }
};

std::string toString(const Type& type);
std::string toString(std::span<const Type> types);

inline Types oneType(DType dtype, Dims dims) { return {Type{Shape{dtype, std::move(dims)}}}; }

// attribute `key` has `size` elements / is in [0, limit) / is all of those and without repeats.
Status checkSize(const OpUse& use, AttrKey key, size_t size);
Status checkInRange(const OpUse& use, AttrKey key, int64_t limit);
enum class Order { any, sorted };
Status checkAxes(const OpUse& use, AttrKey key, int64_t rank, Order order = Order::any);
// `a` and `b` name no dimension twice between them.
Status checkDisjoint(const OpUse& use, AttrKey a, AttrKey b);
Status checkAtLeast(const OpUse& use, AttrKey key, int64_t minimum);

// Region `i` takes arguments of these types / returns these types.
Status checkRegionArgs(const OpUse& use, size_t i, std::span<const Type> types);
Status checkRegionResults(const OpUse& use, size_t i, std::span<const Type> types);
Types regionResultTypes(const OpUse& use, size_t i);


// A dimension computed from attributes, which may hold any 64-bit numbers: exact, then checked.
using Wide = __int128;
Status pushDim(const OpUse& use, Dims& dims, Wide size);

}  // namespace tercel::ir
