#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

class BarrierDropper : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool visit(OpId id) override {
    const Op& op = this->op(id);
    if (op.kind != OpKind::optimization_barrier_) return false;
    replaceAll(op, op.operands);
    return true;
  }
};

}  // namespace

PassResult dropBarriers(Module& module) { return BarrierDropper(module).run(); }

}  // namespace tercel::passes
