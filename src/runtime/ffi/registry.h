// The custom-call handlers and types of this process. Any thread may register and look up at any
// time; what is registered stays.
#pragma once
#include <optional>
#include <string_view>

#include "core/status.h"
#include "runtime/ffi/abi.h"

namespace tercel::ffi {

struct Handler {
  XLA_FFI_Handler* stages[kFfiStages] = {};  // by XLA_FFI_ExecutionStage; null: nothing to do
  int minor_version = 0;                     // of the ABI that it was compiled for
  void* untyped = nullptr;                   // of API versions 1 to 3, in place of all stages
};

// Asks each stage's handler for its metadata. ALREADY_EXISTS where the target has another handler.
Status registerHandler(std::string_view target, const XLA_FFI_Handler_Bundle& bundle);
Status registerUntyped(std::string_view target, void* function);
std::optional<Handler> findHandler(std::string_view target);

// What tercel_ffi_set_lapack says.
void setLapack(void (*initialize)());
void initializeLapack();

using Deleter = void (*)(void* object);
// An id of 0 asks for one; any other is taken as it is. The deleter may be null.
Status registerType(std::string_view name, int64_t& type_id, Deleter deleter);
// Nothing for an unknown type.
std::optional<Deleter> deleterOf(int64_t type_id);

}  // namespace tercel::ffi
