// Extension 5, FFI: types, user data of one execution, and handlers of custom calls.
#pragma once
#include "pjrt/abi/error.h"

struct PJRT_FFI_Type_Info {
  void (*deleter)(void* object);
  void (*serialize)();
  void (*deserialize)();
};

struct PJRT_FFI_Type_Register_Args {
  PJRT_HEAD;
  const char* type_name;
  size_t type_name_size;
  int64_t type_id;  // in/out: 0 asks for an id
  PJRT_FFI_Type_Info* type_info;
};
PJRT_SIZE(PJRT_FFI_Type_Register_Args, type_info);

struct PJRT_FFI_UserData {
  int64_t type_id;
  void* data;
};

struct PJRT_FFI_UserData_Add_Args {
  PJRT_HEAD;
  PJRT_ExecuteContext* context;
  PJRT_FFI_UserData user_data;
};
PJRT_SIZE(PJRT_FFI_UserData_Add_Args, user_data);

enum PJRT_FFI_Handler_TraitsBits : uint32_t {
  PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1,
};

// Has no extension_start.
struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;  // an XLA_FFI_Handler*
  const char* platform_name;
  size_t platform_name_size;
  PJRT_FFI_Handler_TraitsBits traits;
};
PJRT_SIZE(PJRT_FFI_Register_Handler_Args, traits);

struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*type_register)(PJRT_FFI_Type_Register_Args* args);
  PJRT_Error* (*user_data_add)(PJRT_FFI_UserData_Add_Args* args);
  PJRT_Error* (*register_handler)(PJRT_FFI_Register_Handler_Args* args);
};
PJRT_SIZE(PJRT_FFI_Extension, register_handler);
