// The tensor IR: a Module holds flat arrays of ops, values and regions, named by 32-bit ids.
//
// A region is one block: its arguments, its ops in order, and the values it returns. Ops dominate
// their uses in order; a region sees the values of the regions around it. Functions see only their
// own. Values are tensors or tokens; there are no tuples (the reader flattens them).
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/literal.h"
#include "core/shape.h"
#include "core/small_vector.h"

namespace tercel::ir {

enum class OpKind : uint8_t {
#define OP(name, operands, regions, cls) name##_,
#include "compiler/ir/ops.def"
};
enum class OpClass : uint8_t {
  unary, binary, ternary, source, shape, reduce, contract, index, control, other
};
enum class AttrKey : uint8_t {
#define ATTR(name, kind, ops) name,
#include "compiler/ir/attrs.def"
};
enum class AttrKind : uint8_t { boolean, integer, number, symbol, integers, literal, strings };

std::string_view opName(OpKind kind);
bool opKindFromName(std::string_view name, OpKind* kind);
OpClass opClass(OpKind kind);
int opOperandCount(OpKind kind);  // -1: any
int opRegionCount(OpKind kind);   // -1: any
inline bool isElementwise(OpKind kind) { return opClass(kind) <= OpClass::ternary; }
// Of two operands that may change places, bit for bit.
bool commutes(OpKind kind);
// Elementwise, and takes as long as many additions.
bool isCostly(OpKind kind);
std::string_view attrName(AttrKey key);
bool attrKeyFromName(std::string_view name, AttrKey* key);
AttrKind attrKind(AttrKey key);

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;
  bool valid() const { return index != kNone; }
  friend bool operator==(Id, Id) = default;
  friend auto operator<=>(Id, Id) = default;
};
using Value = Id<struct ValueTag>;
using OpId = Id<struct OpTag>;
using RegionId = Id<struct RegionTag>;
using LocId = Id<struct LocTag>;  // index into Module::locations

using Values = SmallVector<Value, 4>;
using Ints = std::vector<int64_t>;
// Alternatives in the order of AttrKind.
using Attr =
    std::variant<bool, int64_t, double, std::string, Ints, Literal, std::vector<std::string>>;

// A tensor's shape, or a token (which orders effects and holds no data).
struct Type {
  Shape shape;
  bool is_token = false;
  static Type token() { return {Shape{DType::pred, {0}}, true}; }
  friend bool operator==(const Type&, const Type&) = default;
};

struct Op {
  OpKind kind = OpKind::constant_;
  LocId loc;
  Values operands;
  Values results;
  SmallVector<RegionId, 2> regions;
  std::vector<std::pair<AttrKey, Attr>> attrs;

  Value operand(size_t i) const { return operands[i]; }
  Value result(size_t i = 0) const { return results[i]; }
  bool has(AttrKey key) const { return find(key) != nullptr; }
  // Missing attributes read as 0, false, 1.0-free defaults: 0 / false / "" / {}.
  int64_t integer(AttrKey key) const;
  bool boolean(AttrKey key) const;
  const Ints& ints(AttrKey key) const;
  const std::string& symbol(AttrKey key) const;
  const Literal& literal() const;  // of a constant
  const Attr* find(AttrKey key) const;
  void set(AttrKey key, Attr value);
};

struct Region {
  Values args;
  std::vector<OpId> ops;
  Values results;
};

// How an argument may share memory with a result: JAX's donation.
struct ArgInfo {
  int64_t aliasing_output = -1;  // tf.aliasing_output
  bool buffer_donor = false;     // jax.buffer_donor
  std::string memory_kind;       // mhlo.memory_kind
  std::string layout_mode;       // mhlo.layout_mode, until applyLayoutModes
  Ints layout;                   // minor_to_major of what callers see; empty: row-major
  std::string sharding;          // sdy.sharding or mhlo.sharding, printed
};
struct ResultInfo {
  std::string memory_kind;
  std::string layout_mode;
  Ints layout;
  std::string sharding;
};

struct Function {
  std::string name;
  bool is_public = true;
  RegionId body;
  std::vector<ArgInfo> args;
  std::vector<ResultInfo> results;
};

struct ValueInfo {
  Type type;
  OpId def;            // invalid: an argument of a region
  uint32_t index = 0;  // among its op's results or its region's arguments
};

class Module {
 public:
  std::string name = "module";
  int64_t num_partitions = 1;
  int64_t num_replicas = 1;
  std::vector<Function> functions;
  std::vector<std::string> locations;  // "jit(f)/jit(main)/add" and "file.py:12:3"

  const Op& op(OpId id) const { return ops_[id.index]; }
  Op& op(OpId id) { return ops_[id.index]; }
  const Region& region(RegionId id) const { return regions_[id.index]; }
  Region& region(RegionId id) { return regions_[id.index]; }
  const ValueInfo& value(Value v) const { return values_[v.index]; }
  const Type& type(Value v) const { return values_[v.index].type; }
  const Shape& shape(Value v) const { return values_[v.index].type.shape; }
  // For passes that drop results or arguments; the op's or region's list is theirs to keep right.
  void setIndex(Value v, uint32_t index) { values_[v.index].index = index; }
  void setType(Value v, Type type) { values_[v.index].type = std::move(type); }
  size_t opCount() const { return ops_.size(); }
  size_t valueCount() const { return values_.size(); }
  size_t regionCount() const { return regions_.size(); }

  RegionId addRegion();
  Value addArg(RegionId region, Type type);
  // Makes an op with one result per type; it belongs to no region until appended to one's `ops`.
  OpId addOp(OpKind kind, Values operands, std::span<const Type> result_types);
  LocId addLocation(std::string text);
  std::string_view location(LocId loc) const;

  const Function* find(std::string_view function) const;
  const Function& main() const;
  Function& main();
  // The op that defines v, or null for a region's argument.
  const Op* def(Value v) const;

 private:
  // Deques: a reference to an op, a region or a type stays good while the module grows.
  std::deque<Op> ops_;
  std::deque<Region> regions_;
  std::deque<ValueInfo> values_;
};

}  // namespace tercel::ir
