// Making buffers.
#pragma once
#include "pjrt/abi/error.h"
#include "pjrt/abi/shape.h"

// What the plugin may assume of the bytes at `data`:
//   OnlyDuringCall           they may change once the call has returned
//   UntilTransferCompletes   they may change once done_with_host_buffer is ready
//   ImmutableZeroCopy        may be aliased; done_with_host_buffer fires when the buffer is gone
//   MutableZeroCopy          likewise, and the plugin may write them
enum PJRT_HostBufferSemantics : int32_t {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
};

// `memory` wins over `device`; byte_strides of null means dense row-major.
struct PJRT_Client_BufferFromHostBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const void* data;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Event* done_with_host_buffer;  // out
  PJRT_Buffer* buffer;                // out
};
PJRT_SIZE(PJRT_Client_BufferFromHostBuffer_Args, buffer);

// The plugin does not own the bytes; on_delete_callback may be null.
struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  void* device_buffer_ptr;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  PJRT_Buffer_MemoryLayout* layout;
  PJRT_Device* device;
  void (*on_delete_callback)(void* device_buffer_ptr, void* user_arg);
  void* on_delete_callback_arg;
  intptr_t stream;
  PJRT_Buffer* buffer;  // out
  PJRT_Memory* memory;
};
PJRT_SIZE(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory);

struct PJRT_Client_CreateUninitializedBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;  // out
};
PJRT_SIZE(PJRT_Client_CreateUninitializedBuffer_Args, buffer);

struct PJRT_Client_CreateErrorBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;             // out
  const PJRT_NamedValue* payload;  // after 0.112
  size_t num_payload;
};
PJRT_SIZE(PJRT_Client_CreateErrorBuffer_Args, num_payload);

struct PJRT_Client_CreateAliasBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Memory* memory;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Buffer* alias_buffer;                                 // out
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;  // out
};
PJRT_SIZE(PJRT_Client_CreateAliasBuffer_Args, fulfill_alias_buffer_cb);

struct PJRT_Client_FulfillAliasBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Buffer* buffer;
  PJRT_Error_Code status_code;
  const char* error_message;
  size_t error_message_size;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
};
PJRT_SIZE(PJRT_Client_FulfillAliasBuffer_Args, fulfill_alias_buffer_cb);
