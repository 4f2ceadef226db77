// What the entries of the ABI reach through the context of a call.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "core/status.h"
#include "runtime/engine/runner.h"
#include "runtime/ffi/abi.h"
#include "runtime/ffi/registry.h"

namespace tercel::ffi {

// Objects that the caller of an execution hands to its handlers, by type id; they are the caller's
// and live until the execution is done.
using UserData = std::vector<std::pair<int64_t, void*>>;

// An object that a stage has made for later ones.
class State {
 public:
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (data_ && deleter_) deleter_(data_);
  }

  Status set(int64_t type_id, void* data, Deleter deleter) {
    if (data_) return failedPrecondition("the state of this stage has been set before");
    type_id_ = type_id, data_ = data, deleter_ = deleter;
    return Status();
  }
  Result<void*> get(int64_t type_id) const {
    if (!data_) return Status(Code::not_found, "the state of this stage has not been set");
    if (type_id != type_id_) {
      return invalidArgument("the state is of type ", type_id_, ", not ", type_id);
    }
    return data_;
  }

 private:
  int64_t type_id_ = 0;
  void* data_ = nullptr;
  Deleter deleter_ = nullptr;
};

}  // namespace tercel::ffi

// The state that instantiation makes lives as long as the call site, the others for one execution.
struct XLA_FFI_ExecutionContext {
  int minor_version = 0;  // of the handler
  tercel::ffi::State* states[kFfiStages - 1] = {};
  // Null while a call site is instantiated.
  const tercel::engine::CustomCall* call = nullptr;
  const tercel::ffi::UserData* user_data = nullptr;
};
