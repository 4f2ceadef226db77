#include "tools/reducer.h"

#include <array>

#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"
#include "tools/edits.h"

namespace tercel::tools {
namespace {

using ir::Module;
using ir::Op;
using ir::OpKind;

// What counts most comes first. An edit is kept where this becomes less, so that they end.
using Size = std::array<int64_t, 6>;

Size sizeOf(const Module& module) {
  auto [ops, elements, values, given, numbers, attributes] = Size{};
  const ir::Region& main = module.region(module.main().body);
  for (const ir::OpId id : opsOfMain(module)) {
    const Op& op = module.op(id);
    ++(op.kind == OpKind::constant_ ? values : ops);
    for (ir::Value v : op.results)
      if (!module.type(v).is_token) elements += module.shape(v).elements();
    if (op.kind == OpKind::constant_) {
      const ir::Literal& literal = op.literal();
      given += literal.isSplat() ? (literal.number(0) == 0 ? 0 : 1) : literal.shape().elements();
      continue;
    }
    attributes += static_cast<int64_t>(op.attrs.size());
    for (const auto& [key, attr] : op.attrs)
      if (const auto* list = std::get_if<ir::Ints>(&attr))
        for (int64_t number : *list) numbers += std::abs(number);
  }
  values += static_cast<int64_t>(main.args.size() + main.results.size());
  for (ir::Value v : main.args)
    if (!module.type(v).is_token) elements += module.shape(v).elements();
  return {ops, elements, values, given, numbers, attributes};
}

bool holds(const Module& module) {
  try {
    return ir::verify(module).ok();
  } catch (const CheckFailure&) {
    return false;
  }
}

class Reduction {
 public:
  Reduction(Module module, const Fails& fails)
      : best_(std::move(module)), size_(sizeOf(best_)), fails_(fails) {}

  Module run() {
    attempt(inlined());
    for (bool changed = true; changed;) {
      const Size before = size_;
      for (auto edits : {dropResults, takeBranches, replaceOps, dropOperands, dropArguments,
                         shrinkSizes, simplifyConstants, simplifyAttributes})
        edits(best_, [this](Module edited) { return attempt(std::move(edited)); });
      changed = size_ < before;
    }
    return std::move(best_);
  }

 private:
  Module inlined() const {
    Module module = best_;
    if (!passes::runPass("inline", module, {}).ok()) module = best_;
    return module;
  }

  bool attempt(Module edited) {
    if (!holds(edited)) return false;
    if (!passes::runPass("dce", edited, {}).ok() || !holds(edited)) return false;
    const Size size = sizeOf(edited);
    if (!(size < size_) || !fails_(edited)) return false;
    best_ = std::move(edited);
    size_ = size;
    return true;
  }

  Module best_;
  Size size_;
  const Fails& fails_;
};

}  // namespace

Module reduce(Module module, const Fails& fails) {
  return Reduction(std::move(module), fails).run();
}

}  // namespace tercel::tools
