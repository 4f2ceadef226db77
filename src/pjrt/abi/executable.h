// Executables: what the compiler made.
#pragma once
#include "pjrt/abi/error.h"
#include "pjrt/abi/shape.h"

struct PJRT_Program;
struct PJRT_SerializedExecutable;
struct PJRT_SerializedCompileOptions;

struct PJRT_Executable_Destroy_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
};
PJRT_SIZE(PJRT_Executable_Destroy_Args, executable);

struct PJRT_Executable_Name_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  const char* executable_name;  // out
  size_t executable_name_size;  // out
};
PJRT_SIZE(PJRT_Executable_Name_Args, executable_name_size);

struct PJRT_Executable_NumReplicas_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_replicas;  // out
};
PJRT_SIZE(PJRT_Executable_NumReplicas_Args, num_replicas);

struct PJRT_Executable_NumPartitions_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_partitions;  // out
};
PJRT_SIZE(PJRT_Executable_NumPartitions_Args, num_partitions);

struct PJRT_Executable_OptimizedProgram_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  PJRT_Program* program;  // out; out, but see PJRT_Program
};
PJRT_SIZE(PJRT_Executable_OptimizedProgram_Args, program);

struct PJRT_Executable_NumOutputs_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;  // out
};
PJRT_SIZE(PJRT_Executable_NumOutputs_Args, num_outputs);

struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  int64_t size_in_bytes;  // out
};
PJRT_SIZE(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, size_in_bytes);

struct PJRT_Executable_Fingerprint_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
};
PJRT_SIZE(PJRT_Executable_Fingerprint_Args, executable_fingerprint_size);

struct PJRT_Executable_GetCostAnalysis_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_properties;              // out
  const PJRT_NamedValue* properties;  // out
};
PJRT_SIZE(PJRT_Executable_GetCostAnalysis_Args, properties);

struct PJRT_Executable_GetCompiledMemoryStats_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  int64_t generated_code_size_in_bytes;       // out; out, as all that follow
  int64_t argument_size_in_bytes;             // out
  int64_t output_size_in_bytes;               // out
  int64_t alias_size_in_bytes;                // out
  int64_t temp_size_in_bytes;                 // out
  int64_t host_generated_code_size_in_bytes;  // out
  int64_t host_argument_size_in_bytes;        // out
  int64_t host_output_size_in_bytes;          // out
  int64_t host_alias_size_in_bytes;           // out
  int64_t host_temp_size_in_bytes;            // out
  int64_t peak_memory_in_bytes;               // out
  int64_t total_size_in_bytes;                // out
  int64_t total_allocation_bytes;             // out
  int64_t indefinite_allocations;             // out
  int64_t peak_unpadded_heap_bytes;           // out
};
PJRT_SIZE(PJRT_Executable_GetCompiledMemoryStats_Args, peak_unpadded_heap_bytes);

struct PJRT_Executable_OutputElementTypes_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  PJRT_Buffer_Type* output_types;  // out
  size_t num_output_types;         // out
};
PJRT_SIZE(PJRT_Executable_OutputElementTypes_Args, num_output_types);

// The dimensions of all outputs, concatenated; dim_sizes has the rank of each.
struct PJRT_Executable_OutputDimensions_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;
  const int64_t* dims;      // out
  const size_t* dim_sizes;  // out
};
PJRT_SIZE(PJRT_Executable_OutputDimensions_Args, dim_sizes);

struct PJRT_Executable_ParameterMemoryKinds_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
};
PJRT_SIZE(PJRT_Executable_ParameterMemoryKinds_Args, memory_kind_sizes);

struct PJRT_Executable_OutputMemoryKinds_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
};
PJRT_SIZE(PJRT_Executable_OutputMemoryKinds_Args, memory_kind_sizes);

struct PJRT_Executable_Serialize_Args {
  PJRT_HEAD;
  const PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedExecutable* serialized_executable;
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable* exec);  // out
};
PJRT_SIZE(PJRT_Executable_Serialize_Args, serialized_executable_deleter);

struct PJRT_Executable_GetCompileOptions_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedCompileOptions* serialized_compile_options;
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions* options);  // out
};
PJRT_SIZE(PJRT_Executable_GetCompileOptions_Args, serialized_compile_options_deleter);
