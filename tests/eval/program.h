// Small programs in the text form, evaluated.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/eval/evaluator.h"

namespace tercel::eval {

using Texts = std::vector<std::string>;

// A literal from its text: "f32[3] (1, nan, -inf)", "s32[4] splat(7)".
ir::Literal literal(std::string_view text);
std::string show(const ir::Literal& literal);

// One op on literals: `op` is "add(%0, %1) : f32[3]", its operands are the arguments in order.
// `functions` holds more functions of the module.
Result<Literals> evaluateText(std::string_view op, const Texts& args, const EvalOptions& = {},
                              std::string_view functions = {});

// Bits are equal, except that any NaN is as good as any other.
void expectOp(std::string_view op, const Texts& args, const Texts& results,
              std::string_view functions = {});
// Elements differ by at most `ulps` units in the last place of the expected ones.
void expectNear(std::string_view op, const Texts& args, std::string_view result, double ulps);

// Attributes and region of a reduction that combines two scalars of `dtype` with `op`.
std::string combineWith(std::string_view op, std::string_view dtype);

}  // namespace tercel::eval
