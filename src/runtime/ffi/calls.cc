#include "runtime/ffi/calls.h"

#include "runtime/engine/subnormals.h"

namespace tercel::ffi {

bool isKnownTarget(std::string_view target) {
  return isPythonCallback(target) ? canCallPython() : findHandler(target).has_value();
}

Result<const CallSite*> CallSites::siteOf(const engine::CustomCall& call) {
  {
    std::lock_guard lock(mutex_);
    auto found = sites_.find(call.site);
    if (found != sites_.end()) return found->second.get();
  }
  TERCEL_ASSIGN(std::unique_ptr<const CallSite> made, CallSite::create(call));
  std::lock_guard lock(mutex_);
  return sites_.try_emplace(call.site, std::move(made)).first->second.get();
}

Status CallSites::call(const engine::CustomCall& call, const UserData* user_data) {
  TERCEL_ASSIGN(const CallSite* site, siteOf(call));
  const engine::SubnormalScope scope(engine::Subnormals::keep);  // a handler is others' code
  return site->run(call, user_data);
}

}  // namespace tercel::ffi
