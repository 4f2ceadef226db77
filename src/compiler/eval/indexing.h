// gather and scatter.
#pragma once
#include "compiler/eval/evaluation.h"

namespace tercel::eval {

Result<Literals> evalGather(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalScatter(Evaluation& evaluation, const Op& op, Operands operands);

}  // namespace tercel::eval
