// Running a loaded executable.
#pragma once
#include "pjrt/abi/error.h"
#include "pjrt/abi/shape.h"

struct PJRT_ExecuteContext_Create_Args {
  PJRT_HEAD;
  PJRT_ExecuteContext* context;  // out
};
PJRT_SIZE(PJRT_ExecuteContext_Create_Args, context);

struct PJRT_ExecuteContext_Destroy_Args {
  PJRT_HEAD;
  PJRT_ExecuteContext* context;
};
PJRT_SIZE(PJRT_ExecuteContext_Destroy_Args, context);

struct PJRT_Chunk;

using PJRT_SendCallback = PJRT_Error* (*)(PJRT_Chunk* chunk, PJRT_CallbackError* callback_error,
                                          size_t total_size_in_bytes, bool done, void* user_arg);
using PJRT_RecvCallback = void (*)(PJRT_CopyToDeviceStream* stream, void* user_arg);
using PJRT_HloOutputCallback = void (*)(int64_t replica_id, int64_t partition_id, const void* data,
                                        const int64_t* shape_dims, size_t shape_num_dims,
                                        PJRT_Buffer_Type shape_element_type, int64_t operand_index,
                                        void* user_arg);

struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_SendCallback send_callback;
};
PJRT_SIZE(PJRT_SendCallbackInfo, send_callback);

struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_RecvCallback recv_callback;
};
PJRT_SIZE(PJRT_RecvCallbackInfo, recv_callback);

struct PJRT_HloOutputCallbackInfo {
  void* user_arg;
  PJRT_HloOutputCallback callback;
  int64_t callback_id;
  size_t num_operands;
};
PJRT_SIZE(PJRT_HloOutputCallbackInfo, num_operands);

// A send/recv list has one row of num_*_ops callbacks per device.
struct PJRT_ExecuteOptions {
  PJRT_HEAD;
  PJRT_SendCallbackInfo** send_callbacks;
  PJRT_RecvCallbackInfo** recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
  PJRT_MultiSlice_Config* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  PJRT_HloOutputCallbackInfo* hlo_output_callbacks;
  size_t num_hlo_output_callbacks;
};
PJRT_SIZE(PJRT_ExecuteOptions, num_hlo_output_callbacks);

// argument_lists[device][arg]; output_lists[device] has room for one pointer per output.
// device_complete_events is null, or room for an event per device.
struct PJRT_LoadedExecutable_Execute_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer** const* output_lists;    // out
  PJRT_Event** device_complete_events;  // out
  PJRT_Device* execute_device;
};
PJRT_SIZE(PJRT_LoadedExecutable_Execute_Args, execute_device);
