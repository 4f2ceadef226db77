// Buffers.
#pragma once
#include "pjrt/abi/error.h"
#include "pjrt/abi/shape.h"

struct PJRT_Buffer_Destroy_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_SIZE(PJRT_Buffer_Destroy_Args, buffer);

struct PJRT_Buffer_ElementType_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type type;  // out
};
PJRT_SIZE(PJRT_Buffer_ElementType_Args, type);

struct PJRT_Buffer_Dimensions_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  const int64_t* dims;  // out
  size_t num_dims;      // out
};
PJRT_SIZE(PJRT_Buffer_Dimensions_Args, num_dims);

struct PJRT_Buffer_UnpaddedDimensions_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  const int64_t* unpadded_dims;  // out
  size_t num_dims;               // out
};
PJRT_SIZE(PJRT_Buffer_UnpaddedDimensions_Args, num_dims);

struct PJRT_Buffer_DynamicDimensionIndices_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  const size_t* dynamic_dim_indices;  // out
  size_t num_dynamic_dims;            // out
};
PJRT_SIZE(PJRT_Buffer_DynamicDimensionIndices_Args, num_dynamic_dims);

// What the layout points to lives as long as the buffer.
struct PJRT_Buffer_GetMemoryLayout_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_MemoryLayout layout;  // out
};
PJRT_SIZE(PJRT_Buffer_GetMemoryLayout_Args, layout);

// A null host_layout means row-major; a null dst asks for dst_size.
struct PJRT_Buffer_ToHostBuffer_Args {
  PJRT_HEAD;
  PJRT_Buffer* src;
  PJRT_Buffer_MemoryLayout* host_layout;
  void* dst;          // out
  size_t dst_size;    // in; out where dst is null
  PJRT_Event* event;  // out
};
PJRT_SIZE(PJRT_Buffer_ToHostBuffer_Args, event);

struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  size_t on_device_size_in_bytes;  // out
};
PJRT_SIZE(PJRT_Buffer_OnDeviceSizeInBytes_Args, on_device_size_in_bytes);

struct PJRT_Buffer_Delete_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_SIZE(PJRT_Buffer_Delete_Args, buffer);

struct PJRT_Buffer_IsDeleted_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  bool is_deleted;  // out
};
PJRT_SIZE(PJRT_Buffer_IsDeleted_Args, is_deleted);

struct PJRT_Buffer_CopyRawToHost_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  void* dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
};
PJRT_SIZE(PJRT_Buffer_CopyRawToHost_Args, event);

struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  void* dst;
};
PJRT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);

// The plugin sets future_ready_callback; the caller hands dst (or an error) to it later, once.
struct PJRT_Buffer_CopyRawToHostFuture_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;                                                                   // out
  void* callback_data;                                                                 // out
  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args);  // out
};
PJRT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Args, future_ready_callback);

struct PJRT_Buffer_CopyToDevice_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Device* dst_device;
  PJRT_Buffer* dst_buffer;  // out
};
PJRT_SIZE(PJRT_Buffer_CopyToDevice_Args, dst_buffer);

struct PJRT_Buffer_CopyToMemory_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Memory* dst_memory;
  PJRT_Buffer* dst_buffer;  // out
};
PJRT_SIZE(PJRT_Buffer_CopyToMemory_Args, dst_buffer);

struct PJRT_Buffer_Bitcast_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type element_type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Buffer* out_buffer;  // out
};
PJRT_SIZE(PJRT_Buffer_Bitcast_Args, out_buffer);

struct PJRT_Buffer_IsOnCpu_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  bool is_on_cpu;  // out
};
PJRT_SIZE(PJRT_Buffer_IsOnCpu_Args, is_on_cpu);

struct PJRT_Buffer_Device_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Device* device;  // out
};
PJRT_SIZE(PJRT_Buffer_Device_Args, device);

struct PJRT_Buffer_Memory_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;  // out
};
PJRT_SIZE(PJRT_Buffer_Memory_Args, memory);

struct PJRT_Buffer_ReadyEvent_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Event* event;  // out
};
PJRT_SIZE(PJRT_Buffer_ReadyEvent_Args, event);

struct PJRT_Buffer_UnsafePointer_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  uintptr_t buffer_pointer;  // out
};
PJRT_SIZE(PJRT_Buffer_UnsafePointer_Args, buffer_pointer);

struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_SIZE(PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer);

struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_SIZE(PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer);

struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  void* device_memory_ptr;  // out
};
PJRT_SIZE(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr);

struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_SIZE(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_message_size);

// The plugin sets the callback; out_buffer becomes ready once the caller has called it.
struct PJRT_Buffer_DonateWithControlDependency_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  void* callback_data;                // out
  void (*dependency_ready_callback)(  // out
      PJRT_Buffer_DonateWithControlDependency_Callback_Args* args);
  PJRT_Buffer* out_buffer;  // out
};
PJRT_SIZE(PJRT_Buffer_DonateWithControlDependency_Args, out_buffer);
