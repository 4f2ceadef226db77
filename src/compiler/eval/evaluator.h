// The meaning of each op, slow and plain: the oracle of the tests, the constant folder and the
// executor of TERCEL_EVAL=1. StableHLO's semantics; XLA:CPU's where StableHLO leaves them open.
//
// Precision: f16, bf16 and f32 are computed in double and rounded once, f64 transcendentals in
// long double. Reductions, windows, dot products and convolutions accumulate in double (f64 dot
// products and convolutions in long double), element by element in row-major order, and round
// once at the end; scatter rounds at every update. Subnormals are kept.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::eval {

using Literals = std::vector<ir::Literal>;
using Operands = std::span<const ir::Literal>;

struct EvalOptions {
  // Sees each op's results as they are made, except inside regions that act on single elements
  // (reducers, comparators).
  std::function<void(const ir::Op&, Operands results)> observer;
  // Evaluates custom calls that the evaluator does not know; without it they are UNIMPLEMENTED.
  std::function<Result<Literals>(const ir::Op&, Operands)> custom_call;
  // RESOURCE_EXHAUSTED after about this many element computations; 0: no limit.
  int64_t work_limit = 0;
  // RESOURCE_EXHAUSTED where regions and calls nest deeper.
  int max_depth = 200;
};

// A token is a literal pred[0]. Errors name the op and its location.
Result<Literals> evaluate(const ir::Module& module, const ir::Function& function, Operands args,
                          const EvalOptions& options = {});
// One op whose regions use no value from outside.
Result<Literals> evaluateOp(const ir::Module& module, const ir::Op& op, Operands operands,
                            const EvalOptions& options = {});
// True for every kind the evaluator can evaluate on some types (custom_call: for some targets).
bool canEvaluate(ir::OpKind kind);

}  // namespace tercel::eval
