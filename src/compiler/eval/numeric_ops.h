// Algorithms, as their definitions have them, in the wide type of their operands.
#pragma once
#include "compiler/eval/evaluation.h"

namespace tercel::eval {

// batch_norm.cc
Result<Literals> evalBatchNorm(Evaluation& evaluation, const Op& op, Operands operands);
// linalg.cc
Result<Literals> evalCholesky(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalTriangularSolve(Evaluation& evaluation, const Op& op, Operands operands);
// fft.cc
Result<Literals> evalFft(Evaluation& evaluation, const Op& op, Operands operands);

}  // namespace tercel::eval
