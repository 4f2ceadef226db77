// Extension 5: types, user data and handlers of custom calls.
#include "pjrt/entry.h"
#include "pjrt/extensions.h"
#include "pjrt/handles.h"
#include "runtime/ffi/registry.h"

namespace tercel::pjrt {
namespace {

Status FFI_Type_Register(PJRT_FFI_Type_Register_Args& args) {
  return ffi::registerType(textOf(args.type_name, args.type_name_size), args.type_id,
                           args.type_info ? args.type_info->deleter : nullptr);
}

Status FFI_UserData_Add(PJRT_FFI_UserData_Add_Args& args) {
  const auto [type_id, data] = args.user_data;
  if (type_id == 0) return invalidArgument("user data without a type");
  for (const auto& [there, ignored] : args.context->user_data) {
    if (there == type_id) {
      return Status(Code::already_exists, cat("user data of type ", type_id, " is there"));
    }
  }
  args.context->user_data.emplace_back(type_id, data);
  return {};
}

Status FFI_Register_Handler(PJRT_FFI_Register_Handler_Args& args) {
  const std::string_view target = textOf(args.target_name, args.target_name_size);
  return ffi::registerHandler(
      target, {nullptr, nullptr, nullptr, reinterpret_cast<XLA_FFI_Handler*>(args.handler)});
}

PJRT_DOOR(FFI_Type_Register, type_name, type_info)
PJRT_DOOR(FFI_UserData_Add, context, user_data)
PJRT_DOOR(FFI_Register_Handler, handler, platform_name_size)

}  // namespace

PJRT_FFI_Extension ffiExtension() {
  return {{PJRT_FFI_Extension_STRUCT_SIZE, PJRT_Extension_Type_FFI, nullptr},
          door_FFI_Type_Register,
          door_FFI_UserData_Add,
          door_FFI_Register_Handler};
}

}  // namespace tercel::pjrt
