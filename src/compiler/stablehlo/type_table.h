// Types of the wire as types of ours; a tuple becomes the types of its leaves.
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/stablehlo/budget.h"
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

inline constexpr size_t kMaxRank = 64;
inline constexpr int64_t kUnknownSize = -1;

inline bool hasUnknownSize(const ir::Type& type) {
  return std::ranges::find(type.shape.dims, kUnknownSize) != type.shape.dims.end();
}
// Whether a type as the file has it, some sizes of which may be unknown, is this one.
bool fits(const ir::Type& announced, const ir::Type& type);

// The element type of a scalar or complex type; nothing where we have none.
std::optional<DType> dtypeOf(const WireModule& wire, uint32_t type);
// For messages: `f8E4M3FN`, `tensor<?x3xf32>`.
std::string typeText(const WireModule& wire, uint32_t type);

class TypeTable {
 public:
  TypeTable(const WireModule& wire, Budget& budget)
      : wire_(wire), budget_(budget), ranges_(wire.types.size()) {}

  // Dimensions whose sizes the file leaves open are kUnknownSize; without it they are refused.
  void allowUnknownSizes() { allows_unknown_ = true; }
  // The leaves stay valid until the next call.
  Status leaves(uint32_t type, std::span<const ir::Type>* leaves);

 private:
  Status convert(uint32_t type, int depth, std::vector<ir::Type>& leaves);
  Status convertTensor(uint32_t type, std::vector<ir::Type>& leaves) const;

  const WireModule& wire_;
  Budget& budget_;
  std::vector<Range> ranges_;  // of leaves_; count 0: not converted yet (or an empty tuple)
  std::vector<ir::Type> leaves_;
  bool allows_unknown_ = false;
  size_t visits_ = 0;  // of types, by the conversion under way
};

}  // namespace tercel::stablehlo
