// One inference function per group of ops; inferTypes() picks one and checks what they share first.
#pragma once
#include "compiler/ir/op_use.h"

namespace tercel::ir {

Result<Types> inferElementwise(const OpUse& use);  // unary, binary, select, clamp
Result<Types> inferMap(const OpUse& use);
Result<Types> inferSource(const OpUse& use);
Result<Types> inferMovement(const OpUse& use);
Result<Types> inferDotGeneral(const OpUse& use);
Result<Types> inferConvolution(const OpUse& use);
Result<Types> inferGather(const OpUse& use);
Result<Types> inferScatter(const OpUse& use);
Result<Types> inferReduction(const OpUse& use);  // reduce, reduce_window, select_and_scatter
Result<Types> inferSort(const OpUse& use);
Result<Types> inferControl(const OpUse& use);
Result<Types> inferOther(const OpUse& use);
Result<Types> inferBatchNorm(const OpUse& use);
Result<Types> inferCholesky(const OpUse& use);
Result<Types> inferFft(const OpUse& use);
Result<Types> inferTriangularSolve(const OpUse& use);

}  // namespace tercel::ir
