// The table of all entries, as GetPjrtApi returns it.
#pragma once
#include "pjrt/abi/buffer.h"
#include "pjrt/abi/client.h"
#include "pjrt/abi/client_buffer.h"
#include "pjrt/abi/device.h"
#include "pjrt/abi/event.h"
#include "pjrt/abi/executable.h"
#include "pjrt/abi/execute.h"
#include "pjrt/abi/loaded_executable.h"
#include "pjrt/abi/memory.h"
#include "pjrt/abi/plugin.h"
#include "pjrt/abi/topology.h"
#include "pjrt/abi/transfer.h"

struct PJRT_Api {
  PJRT_HEAD;
  PJRT_Api_Version pjrt_api_version;
#define PJRT_VOID(index, name, since) void (*PJRT_##name)(PJRT_##name##_Args * args);
#define PJRT_ENTRY(index, name, since, self, needs) \
  PJRT_Error* (*PJRT_##name)(PJRT_##name##_Args * args);
#define PJRT_STUB(index, name, since) PJRT_Error* (*PJRT_##name)(PJRT_##name##_Args * args);
#include "pjrt/api.def"
};
PJRT_SIZE(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds);

// A row out of place in api.def would shift every entry behind it.
#define PJRT_ROW(index, name)                      \
  static_assert(offsetof(PJRT_Api, PJRT_##name) == \
                offsetof(PJRT_Api, PJRT_Error_Destroy) + (index) * sizeof(void (*)()))
#define PJRT_VOID(index, name, since) PJRT_ROW(index, name);
#define PJRT_ENTRY(index, name, since, self, needs) PJRT_ROW(index, name);
#define PJRT_STUB(index, name, since) PJRT_ROW(index, name);
#include "pjrt/api.def"
#undef PJRT_ROW

extern "C" const PJRT_Api* GetPjrtApi();
