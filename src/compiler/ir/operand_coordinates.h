// Where the ops that only rename, skip or turn around coordinates have their elements from.
#pragma once
#include <optional>

#include "compiler/ir/module.h"

namespace tercel::ir {

// In the operand: start + step times the result's coordinate in `dimension`; -1: start alone.
struct Coordinate {
  int64_t dimension = -1;
  int64_t start = 0, step = 1;
};
using Coordinates = SmallVector<Coordinate, 6>;

// For each dimension of the operand of broadcast_in_dim, transpose, slice or reverse; else nothing.
std::optional<Coordinates> operandCoordinates(const Module& module, const Op& op);

}  // namespace tercel::ir
