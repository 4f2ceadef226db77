// Parts of arrays along one dimension: of which parts of its operands an op makes a part of its
// result.
#pragma once
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::ir {

// Lines of one dimension: of a batch of B rows that the dimension holds `unit` lines each of.
struct Cut {
  int64_t dimension = -1;  // -1: all of the array
  int64_t unit = 1;
  bool isWhole() const { return dimension < 0; }
  friend bool operator==(const Cut&, const Cut&) = default;
  friend auto operator<=>(const Cut&, const Cut&) = default;
};

// Of an op with one result, of which `cut` (not all) is made: the cut of each operand. None where
// rows of the result depend on other rows of an operand, or where it is not known.
std::optional<std::vector<Cut>> operandCuts(const Module& module, const Op& op, Cut cut);

// So many lines of a dimension.
struct Part {
  int64_t dimension = -1;  // -1: all of the array
  int64_t lines = 0;
};

// The op once more, of whose results these parts are made of operands that are cut so. It is in no
// region yet.
OpId copyCut(Module& module, const Op& op, Values operands, std::span<const Part> parts);
inline OpId copyCut(Module& module, const Op& op, Values operands, Part part) {
  return copyCut(module, op, std::move(operands), std::span<const Part>(&part, 1));
}

}  // namespace tercel::ir
