// Calls, branches, loops, and ops that only order or annotate.
#pragma once
#include "compiler/eval/evaluation.h"

namespace tercel::eval {

Result<Literals> evalCall(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalCase(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalComposite(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalCustomCall(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalFork(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalIf(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalWhile(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalIdentity(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalAfterAll(Evaluation& evaluation, const Op& op, Operands operands);

}  // namespace tercel::eval
