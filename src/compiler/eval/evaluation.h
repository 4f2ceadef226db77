// One run of the evaluator: the values alive, the work done, and the table of op evaluations.
#pragma once
#include <string_view>
#include <unordered_map>

#include "compiler/eval/evaluator.h"

namespace tercel::eval {

using ir::AttrKey;
using ir::Ints;
using ir::Literal;
using ir::Op;
using ir::OpKind;

class Evaluation {
 public:
  Evaluation(const ir::Module& module, const EvalOptions& options)
      : module_(module), options_(options) {}

  const ir::Module& module() const { return module_; }
  const EvalOptions& options() const { return options_; }
  const Shape& resultShape(const Op& op, size_t i = 0) const { return module_.shape(op.result(i)); }

  Result<Literals> runOp(const Op& op, Operands operands);
  // Values of the regions around it are visible.
  Result<Literals> runRegion(ir::RegionId region, Operands args);
  // The same without calling the observer.
  Result<Literals> runQuietly(ir::RegionId region, Operands args);
  Result<Literals> call(std::string_view function, Operands args);
  // Counts work that is about to be done.
  Status charge(int64_t elements);
  const Literal* find(ir::Value value) const;

 private:
  Result<Literals> runOps(const ir::Region& region);
  Result<Literals> gather(const ir::Values& values) const;
  void forget(const ir::Region& region);

  const ir::Module& module_;
  const EvalOptions& options_;
  std::unordered_map<uint32_t, Literal> values_;
  std::vector<std::string_view> calls_;
  int64_t work_ = 0;
  int depth_ = 0;
  bool quiet_ = false;
};

using OpEval = Result<Literals> (*)(Evaluation&, const Op&, Operands);
// Null where the kind has no evaluation.
OpEval evaluationOf(OpKind kind);

}  // namespace tercel::eval
