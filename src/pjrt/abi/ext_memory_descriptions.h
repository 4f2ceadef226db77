// Extension 6, MemoryDescriptions: the memory kinds of a device that is only described.
#pragma once
#include "pjrt/abi/error.h"

struct PJRT_MemoryDescription;

struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const PJRT_MemoryDescription* const* memory_descriptions;  // out
  size_t num_memory_descriptions;                            // out
  size_t default_memory_index;                               // out; SIZE_MAX: none
};
PJRT_SIZE(PJRT_DeviceDescription_MemoryDescriptions_Args, default_memory_index);

struct PJRT_MemoryDescription_Kind_Args {
  PJRT_HEAD;
  const PJRT_MemoryDescription* memory_description;
  const char* kind;  // out
  size_t kind_size;  // out
  int kind_id;       // out
};
PJRT_SIZE(PJRT_MemoryDescription_Kind_Args, kind_id);

struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_DeviceDescription_MemoryDescriptions)(
      PJRT_DeviceDescription_MemoryDescriptions_Args* args);
  PJRT_Error* (*PJRT_MemoryDescription_Kind)(PJRT_MemoryDescription_Kind_Args* args);
};
PJRT_SIZE(PJRT_MemoryDescriptions_Extension, PJRT_MemoryDescription_Kind);
