// Arguments for test programs: the same for the same module.
#pragma once
#include <random>

#include "compiler/eval/evaluator.h"
#include "compiler/ir/module.h"

namespace tercel::compiler {

// special: NaN, infinities, signed zeros, subnormals, the least and greatest integers, and numbers
// of many sizes. finite: the same without NaN and infinities. small: floats in [-2, 2], integers in
// [-3, 12], so that sums stay exact or nearly so and integers can be indices.
enum class Numbers { special, finite, small };

ir::Literal randomLiteral(const Shape& shape, Numbers numbers, std::mt19937_64& random);
eval::Literals argumentsFor(const ir::Module& module, Numbers numbers);

}  // namespace tercel::compiler
