// sort, with any comparator.
#pragma once
#include "compiler/eval/evaluation.h"

namespace tercel::eval {

Result<Literals> evalSort(Evaluation& evaluation, const Op& op, Operands operands);
// chlo.top_k: the k largest of the last dimension and their indices, in IEEE's total order; a
// lower index first among equals.
Result<Literals> evalTopK(Evaluation& evaluation, const Op& op, Operands operands);

}  // namespace tercel::eval
