// What every part of the PJRT C ABI shares. src/pjrt/abi/ is our own transcription of the facts of
// the interface (names, types, order, numbers); tests/pjrt/abi_check.py compares it with another's.
//
// Every struct starts with struct_size, which the caller sets to its own idea of the size: fields
// are only ever appended, so a plugin may touch the fields that lie inside it and no others.
#pragma once
#include <cstddef>
#include <cstdint>

inline constexpr int PJRT_API_MAJOR = 0;
inline constexpr int PJRT_API_MINOR = 112;  // what we promise; the structs know 0.114's fields

// PJRT counts a struct up to the end of its last field, without the padding behind it.
#define PJRT_SIZE(S, last_field)                                                             \
  inline constexpr size_t S##_STRUCT_SIZE = offsetof(S, last_field) + sizeof(S::last_field); \
  static_assert((S##_STRUCT_SIZE + alignof(S) - 1) / alignof(S) * alignof(S) == sizeof(S))

#define PJRT_HEAD     \
  size_t struct_size; \
  PJRT_Extension_Base* extension_start

enum PJRT_Extension_Type : int32_t {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Stream = 3,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Triton = 7,
  PJRT_Extension_Type_RawBuffer = 8,
  PJRT_Extension_Type_PhaseCompile = 9,
  PJRT_Extension_Type_Example = 10,
  PJRT_Extension_Type_Unknown = 11,
  PJRT_Extension_Type_CrossHostTransfers = 12,
  PJRT_Extension_Type_ExecutableMetadata = 13,
  PJRT_Extension_Type_Callback = 14,
  PJRT_Extension_Type_HostAllocator = 15,
  PJRT_Extension_Type_TpuTopology = 16,
  PJRT_Extension_Type_TpuExecutable = 17,
  PJRT_Extension_Type_Megascale = 18,
  PJRT_Extension_Type_Shardings = 19,
  PJRT_Extension_Type_AbiVersion = 20,
  PJRT_Extension_Type_Collectives = 21,
  PJRT_Extension_Type_MultiSlice = 22,
  PJRT_Extension_Type_HostMemoryAllocator = 23,
  PJRT_Extension_Type_XlaTransform = 24,
};

// Extensions form a list, off PJRT_Api and off any args struct; an unknown type is skipped.
struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base* next;
};
PJRT_SIZE(PJRT_Extension_Base, next);

struct PJRT_Api_Version {
  PJRT_HEAD;
  int major_version;  // out
  int minor_version;  // out
};
PJRT_SIZE(PJRT_Api_Version, minor_version);

struct PJRT_Error;
struct PJRT_Event;
struct PJRT_Client;
struct PJRT_Device;
struct PJRT_DeviceDescription;
struct PJRT_Memory;
struct PJRT_Executable;
struct PJRT_LoadedExecutable;
struct PJRT_ExecuteContext;
struct PJRT_Buffer;
struct PJRT_TopologyDescription;
struct PJRT_AsyncHostToDeviceTransferManager;
struct PJRT_CopyToDeviceStream;
struct PJRT_AsyncTrackingEvent;
struct PJRT_FulfillAliasBufferCallback;
struct PJRT_MultiSlice_Config;

enum PJRT_NamedValue_Type : int32_t {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4,
};

// `value_size` counts characters or list elements, and is 1 for a scalar.
struct PJRT_NamedValue {
  PJRT_HEAD;
  const char* name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
};
PJRT_SIZE(PJRT_NamedValue, value_size);
