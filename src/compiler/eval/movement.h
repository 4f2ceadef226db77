// Ops that make or move elements and compute nothing.
#pragma once
#include "compiler/eval/evaluation.h"

namespace tercel::eval {

Result<Literals> evalConstant(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalIota(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalBroadcastInDim(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalConcatenate(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalDynamicSlice(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalDynamicUpdateSlice(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalPad(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalReshape(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalAffineSlice(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalReverse(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalSlice(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalTranspose(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalGetDimensionSize(Evaluation& evaluation, const Op& op, Operands operands);

}  // namespace tercel::eval
