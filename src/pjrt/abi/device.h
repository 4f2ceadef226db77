// Devices and their descriptions.
#pragma once
#include "pjrt/abi/error.h"

struct PJRT_DeviceDescription_Id_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  int id;  // out
};
PJRT_SIZE(PJRT_DeviceDescription_Id_Args, id);

struct PJRT_DeviceDescription_ProcessIndex_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  int process_index;  // out
};
PJRT_SIZE(PJRT_DeviceDescription_ProcessIndex_Args, process_index);

struct PJRT_DeviceDescription_Attributes_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  size_t num_attributes;              // out
  const PJRT_NamedValue* attributes;  // out
};
PJRT_SIZE(PJRT_DeviceDescription_Attributes_Args, attributes);

struct PJRT_DeviceDescription_Kind_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* device_kind;  // out
  size_t device_kind_size;  // out
};
PJRT_SIZE(PJRT_DeviceDescription_Kind_Args, device_kind_size);

struct PJRT_DeviceDescription_DebugString_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
};
PJRT_SIZE(PJRT_DeviceDescription_DebugString_Args, debug_string_size);

struct PJRT_DeviceDescription_ToString_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* to_string;  // out
  size_t to_string_size;  // out
};
PJRT_SIZE(PJRT_DeviceDescription_ToString_Args, to_string_size);

struct PJRT_Device_GetDescription_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  PJRT_DeviceDescription* device_description;  // out
};
PJRT_SIZE(PJRT_Device_GetDescription_Args, device_description);

struct PJRT_Device_IsAddressable_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  bool is_addressable;  // out
};
PJRT_SIZE(PJRT_Device_IsAddressable_Args, is_addressable);

struct PJRT_Device_LocalHardwareId_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  int local_hardware_id;  // out
};
PJRT_SIZE(PJRT_Device_LocalHardwareId_Args, local_hardware_id);

struct PJRT_Device_AddressableMemories_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  PJRT_Memory* const* memories;  // out
  size_t num_memories;           // out
};
PJRT_SIZE(PJRT_Device_AddressableMemories_Args, num_memories);

struct PJRT_Device_DefaultMemory_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  PJRT_Memory* memory;  // out
};
PJRT_SIZE(PJRT_Device_DefaultMemory_Args, memory);

// An *_is_set of false hides the figure before it.
struct PJRT_Device_MemoryStats_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  int64_t bytes_in_use;                  // out; out, as all that follow
  int64_t peak_bytes_in_use;             // out
  bool peak_bytes_in_use_is_set;         // out
  int64_t num_allocs;                    // out
  bool num_allocs_is_set;                // out
  int64_t largest_alloc_size;            // out
  bool largest_alloc_size_is_set;        // out
  int64_t bytes_limit;                   // out
  bool bytes_limit_is_set;               // out
  int64_t bytes_reserved;                // out
  bool bytes_reserved_is_set;            // out
  int64_t peak_bytes_reserved;           // out
  bool peak_bytes_reserved_is_set;       // out
  int64_t bytes_reservable_limit;        // out
  bool bytes_reservable_limit_is_set;    // out
  int64_t largest_free_block_bytes;      // out
  bool largest_free_block_bytes_is_set;  // out
  int64_t pool_bytes;                    // out
  bool pool_bytes_is_set;                // out
  int64_t peak_pool_bytes;               // out
  bool peak_pool_bytes_is_set;           // out
  int64_t peak_allocated_bytes;          // out; out; since 0.113
  bool peak_allocated_bytes_is_set;      // out
};
PJRT_SIZE(PJRT_Device_MemoryStats_Args, peak_allocated_bytes_is_set);

struct PJRT_Device_ClearMemoryStats_Args {
  PJRT_HEAD;
  PJRT_Device* device;
};
PJRT_SIZE(PJRT_Device_ClearMemoryStats_Args, device);

struct PJRT_Device_PoisonExecution_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  int32_t launch_id;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  bool poisoned;                   // out
  const PJRT_NamedValue* payload;  // after 0.112
  size_t num_payload;
};
PJRT_SIZE(PJRT_Device_PoisonExecution_Args, num_payload);

struct PJRT_Device_Attributes;

// The client calls attributes_deleter(device_attributes) when it has read the list.
struct PJRT_Device_GetAttributes_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  const PJRT_NamedValue* attributes;                                      // out
  size_t num_attributes;                                                  // out
  PJRT_Device_Attributes* device_attributes;                              // out
  void (*attributes_deleter)(PJRT_Device_Attributes* device_attributes);  // out
};
PJRT_SIZE(PJRT_Device_GetAttributes_Args, attributes_deleter);

struct PJRT_Device_CreateAsyncTrackingEvent_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  const char* description;
  size_t description_size;
  PJRT_AsyncTrackingEvent* event;  // out
};
PJRT_SIZE(PJRT_Device_CreateAsyncTrackingEvent_Args, event);

struct PJRT_AsyncTrackingEvent_Destroy_Args {
  PJRT_HEAD;
  PJRT_AsyncTrackingEvent* event;
};
PJRT_SIZE(PJRT_AsyncTrackingEvent_Destroy_Args, event);
