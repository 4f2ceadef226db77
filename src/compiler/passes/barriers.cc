#include "compiler/passes/passes.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

class BarrierDropper : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool visit(OpId id) override {
    const Op& op = this->op(id);
    if (op.kind == OpKind::optimization_barrier_) {
      replaceAll(op, op.operands);
      dropped_ = true;
      return true;
    }
    // What they kept apart is brought into canonical form.
    Value by = dropped_ ? canonicalForm(*this, op) : Value{};
    if (by.valid()) replace(op.result(), by);
    return by.valid();
  }

 private:
  bool dropped_ = false;
};

}  // namespace

PassResult dropBarriers(Module& module) { return BarrierDropper(module).run(); }

}  // namespace tercel::passes
