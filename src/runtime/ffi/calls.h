// Runs the custom calls of one executable.
#pragma once
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "runtime/ffi/call_site.h"

namespace tercel::ffi {

// Whether a program that calls the target may be compiled.
bool isKnownTarget(std::string_view target);

// Who does what LAPACK is called for: the words of the option.
enum class LinearAlgebra { mixed, own, lapack };

// Each call site is made when it is first run, so that a handler may be registered after its
// program was loaded.
class CallSites {
 public:
  Status call(const engine::CustomCall& call, const UserData* user_data);

 private:
  Result<const CallSite*> siteOf(const engine::CustomCall& call);

  std::mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<const CallSite>> sites_;
};

// The custom calls of one execution, with what its caller gave for them.
class Calls final : public engine::CustomCallHandler {
 public:
  Calls(std::shared_ptr<CallSites> sites, std::shared_ptr<const UserData> user_data,
        LinearAlgebra linear_algebra = LinearAlgebra::mixed)
      : sites_(std::move(sites)),
        user_data_(std::move(user_data)),
        linear_algebra_(linear_algebra) {}

  Status call(const engine::CustomCall& call) override {
    return sites_->call(call, user_data_.get());
  }
  bool replaces(std::string_view target, bool is_preferred) const override {
    const bool is_wanted = linear_algebra_ == LinearAlgebra::mixed
                               ? !is_preferred
                               : linear_algebra_ == LinearAlgebra::lapack;
    return is_wanted && isKnownTarget(target);
  }

 private:
  const std::shared_ptr<CallSites> sites_;
  const std::shared_ptr<const UserData> user_data_;
  const LinearAlgebra linear_algebra_;
};

}  // namespace tercel::ffi
