// Executables that are loaded onto devices.
#pragma once
#include "pjrt/abi/error.h"

struct PJRT_DeviceAssignmentSerialized;

struct PJRT_LoadedExecutable_Destroy_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
};
PJRT_SIZE(PJRT_LoadedExecutable_Destroy_Args, executable);

// The result is the caller's to destroy, and may outlive the loaded executable.
struct PJRT_LoadedExecutable_GetExecutable_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;  // out
};
PJRT_SIZE(PJRT_LoadedExecutable_GetExecutable_Args, executable);

// A serialized xla.DeviceAssignmentProto, or size 0 for a portable executable.
struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_DeviceAssignmentSerialized* serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized* da);  // out
};
PJRT_SIZE(PJRT_LoadedExecutable_GetDeviceAssignment_Args, serialized_device_assignment_deleter);

struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
};

struct PJRT_LoadedExecutable_AddressableDevices_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_Device* const* addressable_devices;  // out
  size_t num_addressable_devices;           // out
};
PJRT_SIZE(PJRT_LoadedExecutable_AddressableDevices_Args, num_addressable_devices);

struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_LogicalDeviceIds* addressable_device_logical_ids;  // out
  size_t num_addressable_device_logical_ids;              // out
};
PJRT_SIZE(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
          num_addressable_device_logical_ids);

struct PJRT_LoadedExecutable_Delete_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
};
PJRT_SIZE(PJRT_LoadedExecutable_Delete_Args, executable);

struct PJRT_LoadedExecutable_IsDeleted_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  bool is_deleted;  // out
};
PJRT_SIZE(PJRT_LoadedExecutable_IsDeleted_Args, is_deleted);

struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t* computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config* multi_slice_config;
};
PJRT_SIZE(PJRT_LoadOptions, multi_slice_config);

// Null override means: load with the options the executable was compiled with.
struct PJRT_Executable_DeserializeAndLoad_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
  const char* overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
  PJRT_LoadOptions* load_options;
};
PJRT_SIZE(PJRT_Executable_DeserializeAndLoad_Args, load_options);

struct PJRT_LoadedExecutable_Fingerprint_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
};
PJRT_SIZE(PJRT_LoadedExecutable_Fingerprint_Args, executable_fingerprint_size);
