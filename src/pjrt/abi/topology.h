// Topologies: devices described without a client, to compile for.
#pragma once
#include "pjrt/abi/error.h"
#include "pjrt/abi/shape.h"

struct PJRT_Program;
struct PJRT_SerializedTopology;

struct PJRT_TopologyDescription_Create_Args {
  PJRT_HEAD;
  const char* topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_SIZE(PJRT_TopologyDescription_Create_Args, topology);

struct PJRT_TopologyDescription_Destroy_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
};
PJRT_SIZE(PJRT_TopologyDescription_Destroy_Args, topology);

struct PJRT_TopologyDescription_PlatformVersion_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
};
PJRT_SIZE(PJRT_TopologyDescription_PlatformVersion_Args, platform_version_size);

struct PJRT_TopologyDescription_PlatformName_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
PJRT_SIZE(PJRT_TopologyDescription_PlatformName_Args, platform_name_size);

struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  PJRT_DeviceDescription* const* descriptions;  // out
  size_t num_descriptions;                      // out
};
PJRT_SIZE(PJRT_TopologyDescription_GetDeviceDescriptions_Args, num_descriptions);

struct PJRT_TopologyDescription_Serialize_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
  const char* serialized_bytes;                                                       // out
  size_t serialized_bytes_size;                                                       // out
  PJRT_SerializedTopology* serialized_topology;                                       // out
  void (*serialized_topology_deleter)(PJRT_SerializedTopology* serialized_topology);  // out
};
PJRT_SIZE(PJRT_TopologyDescription_Serialize_Args, serialized_topology_deleter);

struct PJRT_TopologyDescription_Deserialize_Args {
  PJRT_HEAD;
  const char* serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_SIZE(PJRT_TopologyDescription_Deserialize_Args, topology);

struct PJRT_TopologyDescription_Attributes_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;              // out
};
PJRT_SIZE(PJRT_TopologyDescription_Attributes_Args, num_attributes);

struct PJRT_TopologyDescription_Fingerprint_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  uint64_t fingerprint;  // out
};
PJRT_SIZE(PJRT_TopologyDescription_Fingerprint_Args, fingerprint);

struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  int memory_space_kind_id;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  const PJRT_Buffer_MemoryLayout* layout;
  const char* serialized_shape;                   // out
  size_t serialized_shape_size;                   // out
  void (*serialized_shape_deleter)(const char*);  // out
};
PJRT_SIZE(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args, serialized_shape_deleter);

struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  const int* memory_space_kind_ids;  // out
  size_t num_memory_space_kind_ids;  // out
};
PJRT_SIZE(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args, num_memory_space_kind_ids);

// `client` is optional.
struct PJRT_Compile_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_Client* client;
  PJRT_Executable* executable;  // out
};
PJRT_SIZE(PJRT_Compile_Args, executable);
