// Ops that combine elements with a region.
#pragma once
#include "compiler/eval/evaluation.h"

namespace tercel::eval {

Result<Literals> evalReduce(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalReduceWindow(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalSelectAndScatter(Evaluation& evaluation, const Op& op, Operands operands);

}  // namespace tercel::eval
