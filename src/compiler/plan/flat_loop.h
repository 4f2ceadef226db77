// Loops that work on arrays element by element, whatever the dimensions.
#pragma once
#include <optional>

#include "compiler/ir/builder.h"

namespace tercel::plan {

// The loop once more, on arrays of one dimension, which is a multiple of `unit`: others are padded.
// It is in no region, what it takes is made by `before`. None where not all arrays have as many
// elements, or one needs others.
std::optional<ir::OpId> flatLoop(ir::Builder& before, const ir::Op& loop, int64_t unit);

// A result of the flat loop as the loop gives it.
ir::Value unflattened(ir::Builder& after, ir::Value v, const Dims& dims);

}  // namespace tercel::plan
