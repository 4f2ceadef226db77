// Algorithms as loops, products and reductions, one file a concept: expand_linalg.cc,
// expand_lapack.cc, expand_batch_norm.cc, expand_complex_product.cc.
#include "compiler/passes/expand_batch_norm.h"
#include "compiler/passes/expand_complex_product.h"
#include "compiler/passes/expand_lapack.h"
#include "compiler/passes/expand_linalg.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
namespace {

using ir::Builder;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;
using ir::Values;

// What stands for the op's results; none: it stays.
Values expansionOf(Builder& b, const Op& op) {
  switch (op.kind) {
    case OpKind::batch_norm_grad_:
    case OpKind::batch_norm_inference_:
    case OpKind::batch_norm_training_:
      return expandBatchNorm(b, op);
    case OpKind::cholesky_:
      return {expandCholesky(b, op)};
    case OpKind::custom_call_:
      return expandLapack(b, op);
    case OpKind::dot_general_: {
      const Value product = expandComplexProduct(b, op);
      return product.valid() ? Values{product} : Values{};
    }
    case OpKind::triangular_solve_:
      return {expandTriangularSolve(b, op)};
    default:
      return {};
  }
}

class Decompose {
 public:
  explicit Decompose(ir::Module& module) : m_(module) {}

  bool run() {
    for (const ir::Function& function : m_.functions) walk(function.body);
    return changed_;
  }

 private:
  void walk(ir::RegionId id) {
    std::vector<OpId> todo = std::move(m_.region(id).ops);
    m_.region(id).ops.clear();
    Builder b(m_, id);
    for (OpId op : todo) {
      remap(m_.op(op).operands);
      for (ir::RegionId inner : m_.op(op).regions) walk(inner);
      b.setLocation(m_.op(op).loc);
      const Op old = m_.op(op);
      const Values by = expansionOf(b, old);
      if (by.empty()) {
        m_.region(id).ops.push_back(op);
        continue;
      }
      changed_ = true;
      forward_.resize(m_.valueCount());
      for (size_t i = 0; i < by.size(); ++i) forward_[old.result(i).index] = by[i];
    }
    remap(m_.region(id).results);
  }

  void remap(Values& values) const {
    for (Value& v : values)
      if (v.index < forward_.size() && forward_[v.index].valid()) v = forward_[v.index];
  }

  ir::Module& m_;
  std::vector<Value> forward_;  // by value index; invalid or out of range: itself
  bool changed_ = false;
};

}  // namespace

PassResult decompose(ir::Module& module) { return Decompose(module).run(); }

}  // namespace tercel::passes
