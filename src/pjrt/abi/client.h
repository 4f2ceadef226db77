// The client: devices, compilation, and the key-value store of a cluster.
#pragma once
#include "pjrt/abi/error.h"

using PJRT_KeyValueGetCallback_ValueDeleter = void (*)(char* value);

struct PJRT_KeyValueGetCallback_Args {
  PJRT_HEAD;
  const char* key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;                                                   // out
  size_t value_size;                                             // out
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;  // out
};
PJRT_SIZE(PJRT_KeyValueGetCallback_Args, value_deleter_callback);

using PJRT_KeyValueGetCallback = PJRT_Error* (*)(PJRT_KeyValueGetCallback_Args* args);
using PJRT_KeyValueTryGetCallback_ValueDeleter = void (*)(char* value);

struct PJRT_KeyValueTryGetCallback_Args {
  PJRT_HEAD;
  const char* key;
  size_t key_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;                                                      // out
  size_t value_size;                                                // out
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;  // out
};
PJRT_SIZE(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);

using PJRT_KeyValueTryGetCallback = PJRT_Error* (*)(PJRT_KeyValueTryGetCallback_Args* args);

struct PJRT_KeyValuePutCallback_Args {
  PJRT_HEAD;
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
};
PJRT_SIZE(PJRT_KeyValuePutCallback_Args, user_arg);

using PJRT_KeyValuePutCallback = PJRT_Error* (*)(PJRT_KeyValuePutCallback_Args* args);

// Without jax.distributed the kv_* fields hold garbage: look at them only when create_options
// says num_nodes > 1.
struct PJRT_Client_Create_Args {
  PJRT_HEAD;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_KeyValueGetCallback kv_get_callback;
  void* kv_get_user_arg;
  PJRT_KeyValuePutCallback kv_put_callback;
  void* kv_put_user_arg;
  PJRT_Client* client;  // out
  PJRT_KeyValueTryGetCallback kv_try_get_callback;
  void* kv_try_get_user_arg;
};
PJRT_SIZE(PJRT_Client_Create_Args, kv_try_get_user_arg);

struct PJRT_Client_Destroy_Args {
  PJRT_HEAD;
  PJRT_Client* client;
};
PJRT_SIZE(PJRT_Client_Destroy_Args, client);

struct PJRT_Client_PlatformName_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
PJRT_SIZE(PJRT_Client_PlatformName_Args, platform_name_size);

struct PJRT_Client_PlatformVersion_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
};
PJRT_SIZE(PJRT_Client_PlatformVersion_Args, platform_version_size);

struct PJRT_Client_ProcessIndex_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int process_index;  // out
};
PJRT_SIZE(PJRT_Client_ProcessIndex_Args, process_index);

struct PJRT_Client_TopologyDescription_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_SIZE(PJRT_Client_TopologyDescription_Args, topology);

struct PJRT_Client_Devices_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Device* const* devices;  // out
  size_t num_devices;           // out
};
PJRT_SIZE(PJRT_Client_Devices_Args, num_devices);

struct PJRT_Client_AddressableDevices_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Device* const* addressable_devices;  // out
  size_t num_addressable_devices;           // out
};
PJRT_SIZE(PJRT_Client_AddressableDevices_Args, num_addressable_devices);

struct PJRT_Client_LookupDevice_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int id;
  PJRT_Device* device;  // out
};
PJRT_SIZE(PJRT_Client_LookupDevice_Args, device);

struct PJRT_Client_LookupAddressableDevice_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int local_hardware_id;
  PJRT_Device* addressable_device;  // out
};
PJRT_SIZE(PJRT_Client_LookupAddressableDevice_Args, addressable_device);

struct PJRT_Client_AddressableMemories_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Memory* const* addressable_memories;  // out
  size_t num_addressable_memories;           // out
};
PJRT_SIZE(PJRT_Client_AddressableMemories_Args, num_addressable_memories);

enum PJRT_ProcessState : int32_t {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4,
};

// Has no extension_start.
struct PJRT_ProcessInfo {
  size_t struct_size;
  int task_id;
  uint64_t incarnation_id;
  PJRT_ProcessState state;
  int error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_SIZE(PJRT_ProcessInfo, error_message_size);

struct PJRT_Client_UpdateGlobalProcessInfo_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_ProcessInfo* process_infos;
  size_t num_process_infos;
};
PJRT_SIZE(PJRT_Client_UpdateGlobalProcessInfo_Args, num_process_infos);

// `format` is "mlir", "hlo" or "hlo_with_config". As the result of OptimizedProgram, `code` is the
// caller's memory: a first call with null asks for the size.
struct PJRT_Program {
  PJRT_HEAD;
  char* code;  // out
  size_t code_size;
  const char* format;
  size_t format_size;
};
PJRT_SIZE(PJRT_Program, format_size);

struct PJRT_Client_Compile_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* executable;  // out
};
PJRT_SIZE(PJRT_Client_Compile_Args, executable);

struct PJRT_Client_Load_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Executable* executable;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
};
PJRT_SIZE(PJRT_Client_Load_Args, loaded_executable);

// The caller provides room for num_replicas * num_partitions ids, replica-major.
struct PJRT_Client_DefaultDeviceAssignment_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int* default_assignment;
};
PJRT_SIZE(PJRT_Client_DefaultDeviceAssignment_Args, default_assignment);

struct PJRT_Client_DmaMap_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  void* data;
  size_t size;
};
PJRT_SIZE(PJRT_Client_DmaMap_Args, size);

struct PJRT_Client_DmaUnmap_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  void* data;
};
PJRT_SIZE(PJRT_Client_DmaUnmap_Args, data);
