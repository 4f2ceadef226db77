// Whether two arrays are the same result of a program, computed in two ways.
#pragma once
#include <string>

#include "compiler/ir/literal.h"

namespace tercel::eval {

// "" where they agree, else what differs most and where. Integers must be equal. Floats may differ
// by rounding: in proportion to their own size, or to the array's largest where sums cancel.
std::string difference(const ir::Literal& got, const ir::Literal& wanted);

// Floats of eight bits or fewer as f32.
ir::Literal widened(const ir::Literal& small_floats);

}  // namespace tercel::eval
