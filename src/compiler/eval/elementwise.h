// Elementwise ops on literals.
#pragma once
#include "compiler/eval/evaluation.h"

namespace tercel::eval {

Result<Literals> evalElementwise(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalBitcastConvert(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalMap(Evaluation& evaluation, const Op& op, Operands operands);

Literal convertLiteral(const Literal& literal, DType to);
// A scalar spread over `dims`; a literal of these dims is itself.
Literal spread(const Literal& literal, const Dims& dims);

}  // namespace tercel::eval
