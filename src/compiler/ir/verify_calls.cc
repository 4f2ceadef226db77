#include "compiler/ir/verify_calls.h"

#include <unordered_map>

#include "compiler/ir/op_use.h"
#include "compiler/ir/text.h"

namespace tercel::ir {
namespace {

Types typesOf(const Module& module, const Values& values) {
  Types types;
  for (Value v : values) types.push_back(module.type(v));
  return types;
}

class CallGraph {
 public:
  explicit CallGraph(const Module& module) : module_(module) {}

  Status build() {
    for (size_t i = 0; i < module_.functions.size(); ++i)
      if (!index_.emplace(module_.functions[i].name, i).second)
        return invalidArgument("a second function @", module_.functions[i].name);
    if (!index_.contains("main")) return invalidArgument("the module has no function @main");
    callees_.resize(module_.functions.size());
    for (size_t i = 0; i < module_.functions.size(); ++i)
      TERCEL_TRY(collect(module_.functions[i].body, i));
    return {};
  }

  // Removes functions that nobody left calls until none is left, or only those on cycles.
  Status checkNoRecursion() {
    std::vector<size_t> callers(callees_.size(), 0), ready;
    for (const auto& list : callees_)
      for (size_t callee : list) ++callers[callee];
    for (size_t i = 0; i < callers.size(); ++i)
      if (callers[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      size_t f = ready.back();
      ready.pop_back();
      for (size_t callee : callees_[f])
        if (--callers[callee] == 0) ready.push_back(callee);
    }
    for (size_t i = 0; i < callers.size(); ++i)
      if (callers[i] > 0)
        return invalidArgument("@", module_.functions[i].name,
                               " is called from a cycle of functions");
    return {};
  }

 private:
  Status collect(RegionId region, size_t caller) {
    for (OpId id : module_.region(region).ops) {
      const Op& op = module_.op(id);
      for (RegionId inner : op.regions) TERCEL_TRY(collect(inner, caller));
      bool is_call =
          op.kind == OpKind::call_ || (op.kind == OpKind::composite_ && op.has(AttrKey::callee));
      if (!is_call) continue;
      if (Status status = addCall(op, caller); !status.ok())
        return status.within(cat("@", module_.functions[caller].name, ": ",
                                 module_.location(op.loc), ": in '", printOp(module_, id), "'"));
    }
    return {};
  }

  Status addCall(const Op& op, size_t caller) {
    auto found = index_.find(op.symbol(AttrKey::callee));
    if (found == index_.end())
      return invalidArgument("there is no function @", op.symbol(AttrKey::callee));
    const Region& body = module_.region(module_.functions[found->second].body);
    Types args = typesOf(module_, body.args), results = typesOf(module_, body.results);
    if (typesOf(module_, op.operands) != args || typesOf(module_, op.results) != results)
      return invalidArgument("@", found->first, " is ", toString(args), " -> ", toString(results));
    callees_[caller].push_back(found->second);
    return {};
  }

  const Module& module_;
  std::unordered_map<std::string_view, size_t> index_;
  std::vector<std::vector<size_t>> callees_;
};

}  // namespace

Status verifyCalls(const Module& module) {
  CallGraph graph(module);
  TERCEL_TRY(graph.build());
  return graph.checkNoRecursion();
}

}  // namespace tercel::ir
