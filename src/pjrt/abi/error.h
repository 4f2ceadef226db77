// Errors. A null PJRT_Error* is success; any other is the caller's to destroy.
#pragma once
#include "pjrt/abi/base.h"

enum PJRT_Error_Code : int32_t {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16,
};

using PJRT_Error_PayloadVisitor = void (*)(const char* key, size_t key_size, const char* value,
                                           size_t value_size, void* user_arg);

// How a callback of the client's makes an error of ours to return.
using PJRT_CallbackError = PJRT_Error* (*)(PJRT_Error_Code code, const char* message,
                                           size_t message_size);

// Since 0.107 an error starts with a pointer to this table.
struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*destroy)(PJRT_Error* error);
  void (*message)(const PJRT_Error* error, const char** message, size_t* message_size);
  PJRT_Error_Code (*get_code)(const PJRT_Error* error);
  void (*for_each_payload)(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor,
                           void* user_arg);
};
PJRT_SIZE(PJRT_Error_FunctionTable, for_each_payload);

struct PJRT_Error {
  const PJRT_Error_FunctionTable* vtable;
};
PJRT_SIZE(PJRT_Error, vtable);

// `error` may be null.
struct PJRT_Error_Destroy_Args {
  PJRT_HEAD;
  PJRT_Error* error;
};
PJRT_SIZE(PJRT_Error_Destroy_Args, error);

struct PJRT_Error_Message_Args {
  PJRT_HEAD;
  const PJRT_Error* error;
  const char* message;  // out
  size_t message_size;  // out
};
PJRT_SIZE(PJRT_Error_Message_Args, message_size);

struct PJRT_Error_GetCode_Args {
  PJRT_HEAD;
  const PJRT_Error* error;
  PJRT_Error_Code code;  // out
};
PJRT_SIZE(PJRT_Error_GetCode_Args, code);

struct PJRT_Error_ForEachPayload_Args {
  PJRT_HEAD;
  const PJRT_Error* error;
  PJRT_Error_PayloadVisitor visitor;
  void* user_arg;
};
PJRT_SIZE(PJRT_Error_ForEachPayload_Args, user_arg);
