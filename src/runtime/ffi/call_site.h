// A custom call of a program: its handler, and what that is shown, made once.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/runner.h"
#include "runtime/ffi/attributes.h"
#include "runtime/ffi/context.h"
#include "runtime/ffi/python_callback.h"
#include "runtime/ffi/registry.h"

namespace tercel::ffi {

class CallSite {
 public:
  // Finds the handler and instantiates it. UNIMPLEMENTED where nobody has registered the target.
  static Result<std::unique_ptr<CallSite>> create(const engine::CustomCall& call);

  // Several threads may run at once. Waits for an asynchronous handler.
  Status run(const engine::CustomCall& call, const UserData* user_data) const;

 private:
  CallSite() = default;
  Status prepare(const engine::CustomCall& call);
  Status instantiate();
  Status runTyped(const engine::CustomCall& call, const UserData* user_data) const;
  Status runUntyped(const engine::CustomCall& call) const;

  Handler handler_;
  std::optional<PythonCallback> python_;
  std::unique_ptr<Attributes> attributes_;
  program::CallSignature signature_;
  std::vector<XLA_FFI_Buffer> buffers_;  // of operands, then results, without data
  std::vector<XLA_FFI_ArgType> arg_types_;
  std::vector<XLA_FFI_RetType> ret_types_;
  mutable State state_;  // of instantiation
};

}  // namespace tercel::ffi
