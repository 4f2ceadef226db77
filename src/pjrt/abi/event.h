// Events: become ready once, good or with an error.
#pragma once
#include "pjrt/abi/error.h"

struct PJRT_Event_Destroy_Args {
  PJRT_HEAD;
  PJRT_Event* event;
};
PJRT_SIZE(PJRT_Event_Destroy_Args, event);

struct PJRT_Event_IsReady_Args {
  PJRT_HEAD;
  PJRT_Event* event;
  bool is_ready;  // out
};
PJRT_SIZE(PJRT_Event_IsReady_Args, is_ready);

// Null while the event is good; an error of the caller's when it failed.
struct PJRT_Event_Error_Args {
  PJRT_HEAD;
  PJRT_Event* event;
};
PJRT_SIZE(PJRT_Event_Error_Args, event);

struct PJRT_Event_Await_Args {
  PJRT_HEAD;
  PJRT_Event* event;
};
PJRT_SIZE(PJRT_Event_Await_Args, event);

using PJRT_Event_OnReadyCallback = void (*)(PJRT_Error* error, void* user_arg);

// The callback gets null or an error that it owns.
struct PJRT_Event_OnReady_Args {
  PJRT_HEAD;
  PJRT_Event* event;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
};
PJRT_SIZE(PJRT_Event_OnReady_Args, user_arg);

struct PJRT_Event_Create_Args {
  PJRT_HEAD;
  PJRT_Event* event;  // out
};
PJRT_SIZE(PJRT_Event_Create_Args, event);

struct PJRT_Event_Set_Args {
  PJRT_HEAD;
  PJRT_Event* event;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_SIZE(PJRT_Event_Set_Args, error_message_size);
