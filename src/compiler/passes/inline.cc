#include <unordered_map>

#include "compiler/ir/infer.h"
#include "compiler/ir/clone.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int kMaxCallDepth = 400;
constexpr size_t kMaxOps = 8'000'000;  // calls can double what they reach at every level

// Custom calls that say something about a value and compute nothing.
constexpr std::string_view kAnnotations[] = {"Sharding",
                                             "SPMDFullToShardShape",
                                             "SPMDShardToFullShape",
                                             "LayoutConstraint",
                                             "MoveToHost",
                                             "MoveToDevice",
                                             "PinToDevice",
                                             "PinToDeviceSram",
                                             "annotate_device_placement",
                                             "xla.sdy.Sharding",
                                             "xla.sdy.ShardingGroup",
                                             "xla.sdy.FuncResultSharding",
                                             "X64Combine.Identity"};

bool isAnnotation(std::string_view target) {
  for (std::string_view known : kAnnotations)
    if (known == target) return true;
  return false;
}

class Inliner : public Rewriter {
 public:
  explicit Inliner(Module& module) : Rewriter(module), copier_(module, module) {
    takeFunctions();
    countCalls();
  }

  const Status& status() const { return status_; }

 protected:
  bool visit(OpId id) override {
    switch (op(id).kind) {
      case OpKind::call_:
        return inlineCallee(id);
      case OpKind::composite_:
        return asOp(id, op(id).symbol(AttrKey::name), "chlo.") || inlineCallee(id);
      case OpKind::custom_call_:
        return asOp(id, op(id).symbol(AttrKey::call_target_name), "mhlo.") || dropAnnotation(id);
      default:
        return false;
    }
  }

 private:
  struct Callee {
    RegionId body;
    int calls = 0;  // those not inlined yet
    bool active = false;
  };

  void takeFunctions() {
    std::vector<Function> main;
    for (Function& f : module().functions) {
      callees_[f.name] = {f.body};
      if (f.name == "main") main.push_back(std::move(f));
    }
    if (main.empty()) return fail(invalidArgument("the module has no function main"));
    callees_["main"].active = true;
    if (main.size() != module().functions.size()) setChanged();
    module().functions = std::move(main);
  }

  void countCalls() {
    for (size_t i = 0; i < module().opCount(); ++i) {
      const Op& op = module().op(OpId{static_cast<uint32_t>(i)});
      if (op.kind != OpKind::call_ && op.kind != OpKind::composite_) continue;
      auto found = callees_.find(op.symbol(AttrKey::callee));
      if (found != callees_.end()) ++found->second.calls;
    }
  }

  bool inlineCallee(OpId id) {
    if (!status_.ok()) return false;
    std::string name = op(id).symbol(AttrKey::callee);
    auto found = callees_.find(name);
    if (found == callees_.end()) return failAt(id, invalidArgument("no function named ", name));
    Callee& callee = found->second;
    if (callee.active) return failAt(id, unimplemented("recursive call of ", name));
    if (++depth_ > kMaxCallDepth) return failAt(id, unimplemented("calls nested too deeply"));
    if (module().opCount() > kMaxOps)
      return failAt(id, resourceExhausted("more than ", kMaxOps, " ops after inlining"));
    // The body itself serves the last call of it; a copy's own calls count again.
    RegionId body = callee.body;
    if (--callee.calls > 0) {
      body = copier_.copy(callee.body);
      countCallsIn(body);
    }
    callee.active = true;
    Values args = op(id).operands;
    Values results = inlineRegion(body, args);
    callee.active = false;
    --depth_;
    if (!status_.ok()) return false;
    replaceAll(op(id), results);
    return true;
  }

  void countCallsIn(RegionId body) {
    forEachOp(module(), body, [&](OpId inner, RegionId) {
      const Op& op = module().op(inner);
      if (op.kind != OpKind::call_ && op.kind != OpKind::composite_) return;
      auto found = callees_.find(op.symbol(AttrKey::callee));
      if (found != callees_.end()) ++found->second.calls;
    });
  }

  // "chlo.tan" is our tan, where we have an op of that name with this type.
  bool asOp(OpId id, std::string_view name, std::string_view prefix) {
    OpKind kind;
    if (!name.starts_with(prefix) || !opKindFromName(name.substr(prefix.size()), &kind))
      return false;
    if (opClass(kind) != OpClass::unary || kind == OpKind::convert_) return false;
    const Op& from = op(id);
    if (from.operands.size() != 1 || from.results.size() != 1) return false;
    if (isSmall(module().shape(from.result()).dtype)) return false;
    auto types = inferTypes(module(), kind, from.operands, {}, {}, {});
    if (!types.ok() || !((*types)[0] == module().type(from.result()))) return false;
    Value by = unary(kind, from.operand(0));
    replace(from.result(), by);
    return true;
  }

  bool dropAnnotation(OpId id) {
    const Op& from = op(id);
    if (!isAnnotation(from.symbol(AttrKey::call_target_name))) return false;
    if (from.operands.size() != from.results.size()) return false;
    for (size_t i = 0; i < from.results.size(); ++i)
      if (!(module().type(from.operand(i)) == module().type(from.results[i]))) return false;
    replaceAll(from, from.operands);
    return true;
  }

  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  bool failAt(OpId id, Status status) {
    fail(status.within(module().location(op(id).loc)));
    return false;
  }

  std::unordered_map<std::string, Callee> callees_;
  RegionCopier copier_;
  Status status_;
  int depth_ = 0;
};

}  // namespace

PassResult inlineCalls(Module& module) {
  Inliner inliner(module);
  bool changed = inliner.status().ok() && inliner.run();
  if (!inliner.status().ok()) return inliner.status();
  if (changed) compact(module);
  return changed;
}

}  // namespace tercel::passes
