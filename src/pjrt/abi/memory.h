// Memories: one per device and kind.
#pragma once
#include "pjrt/abi/base.h"

// Since 0.105 a memory starts with a pointer to this table; the client keeps its own data on a
// memory through it.
struct PJRT_Memory_FunctionTable {
  PJRT_HEAD;
  size_t instance_struct_size;
  void* (*get_user_data)(PJRT_Memory* memory, const void* key);
  void (*set_user_data)(PJRT_Memory* memory, const void* key, void* data, void (*dtor)(void*));
};
PJRT_SIZE(PJRT_Memory_FunctionTable, set_user_data);

struct PJRT_Memory {
  const PJRT_Memory_FunctionTable* vtable;
};
PJRT_SIZE(PJRT_Memory, vtable);

struct PJRT_Memory_Id_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  int id;  // out
};
PJRT_SIZE(PJRT_Memory_Id_Args, id);

struct PJRT_Memory_Kind_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  const char* kind;  // out
  size_t kind_size;  // out
};
PJRT_SIZE(PJRT_Memory_Kind_Args, kind_size);

struct PJRT_Memory_Kind_Id_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  int kind_id;  // out
};
PJRT_SIZE(PJRT_Memory_Kind_Id_Args, kind_id);

struct PJRT_Memory_DebugString_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
};
PJRT_SIZE(PJRT_Memory_DebugString_Args, debug_string_size);

struct PJRT_Memory_ToString_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  const char* to_string;  // out
  size_t to_string_size;  // out
};
PJRT_SIZE(PJRT_Memory_ToString_Args, to_string_size);

struct PJRT_Memory_AddressableByDevices_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  PJRT_Device* const* devices;  // out
  size_t num_devices;           // out
};
PJRT_SIZE(PJRT_Memory_AddressableByDevices_Args, num_devices);
