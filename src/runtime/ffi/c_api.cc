#include <string>

#include "runtime/ffi/abi.h"
#include "runtime/ffi/registry.h"
#include "runtime/ffi/tercel_ffi.h"

namespace {

const char* messageOf(const tercel::Status& status) {
  thread_local std::string message;
  if (status.ok()) return nullptr;
  message = status.message();
  return message.c_str();
}

XLA_FFI_Handler* handlerAt(void* address) { return reinterpret_cast<XLA_FFI_Handler*>(address); }

}  // namespace

const char* tercel_ffi_register_handler(const char* target, void* instantiate, void* prepare,
                                        void* initialize, void* execute) {
  return messageOf(tercel::ffi::registerHandler(
      target, {handlerAt(instantiate), handlerAt(prepare), handlerAt(initialize),
               handlerAt(execute)}));
}

const char* tercel_ffi_register_untyped(const char* target, void* function) {
  return messageOf(tercel::ffi::registerUntyped(target, function));
}

void tercel_ffi_set_lapack(tercel_ffi_lapack_fn initialize) { tercel::ffi::setLapack(initialize); }

const char* tercel_ffi_register_type(const char* name, int64_t* type_id, const void* type_info) {
  auto* info = static_cast<const XLA_FFI_TypeInfo*>(type_info);
  return messageOf(tercel::ffi::registerType(name, *type_id, info ? info->deleter : nullptr));
}
