// Extension 4, Layouts: a layout is an object that serializes to XLA's text, such as "{1,0}".
#pragma once
#include "pjrt/abi/error.h"
#include "pjrt/abi/shape.h"

struct PJRT_Layouts_MemoryLayout;
struct PJRT_Layouts_SerializedLayout;

struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  PJRT_HEAD;
  PJRT_Layouts_MemoryLayout* layout;
};
PJRT_SIZE(PJRT_Layouts_MemoryLayout_Destroy_Args, layout);

struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  PJRT_HEAD;
  PJRT_Layouts_MemoryLayout* layout;
  const char* serialized_bytes;                                                // out
  size_t serialized_bytes_size;                                                // out
  PJRT_Layouts_SerializedLayout* serialized_layout;                            // out
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout* s_layout);  // out
};
PJRT_SIZE(PJRT_Layouts_MemoryLayout_Serialize_Args, serialized_layout_deleter);

// Every layout handed out below is the caller's to destroy, but those of executables: these live
// as long as the executable.
struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_SIZE(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args, layout);

struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_SIZE(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, layout);

struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology_description;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_SIZE(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args, layout);

struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;                   // out
  PJRT_Layouts_MemoryLayout** layouts;  // out
};
PJRT_SIZE(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args, layouts);

struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;                // out
  PJRT_Layouts_MemoryLayout** layouts;  // out
};
PJRT_SIZE(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args, layouts);

#define PJRT_LAYOUTS_FUNCTION(name) PJRT_Error* (*PJRT_##name)(PJRT_##name##_Args * args)

struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_LAYOUTS_FUNCTION(Layouts_MemoryLayout_Destroy);
  PJRT_LAYOUTS_FUNCTION(Layouts_MemoryLayout_Serialize);
  PJRT_LAYOUTS_FUNCTION(Layouts_PJRT_Client_GetDefaultLayout);
  PJRT_LAYOUTS_FUNCTION(Layouts_PJRT_Buffer_MemoryLayout);
  PJRT_LAYOUTS_FUNCTION(Layouts_PJRT_Topology_GetDefaultLayout);
  PJRT_LAYOUTS_FUNCTION(Layouts_PJRT_Executable_GetOutputLayouts);
  PJRT_LAYOUTS_FUNCTION(Layouts_PJRT_Executable_GetParameterLayouts);
};
PJRT_SIZE(PJRT_Layouts_Extension, PJRT_Layouts_PJRT_Executable_GetParameterLayouts);

#undef PJRT_LAYOUTS_FUNCTION
