#include <cstring>

#include "pjrt/entry.h"
#include "pjrt/executable_facts.h"

struct PJRT_SerializedExecutable {
  tercel::pjrt::FactsRef facts;  // whose bytes these are
};
struct PJRT_SerializedCompileOptions {
  tercel::pjrt::FactsRef facts;
};

namespace tercel::pjrt {

Status Executable_Destroy(PJRT_Executable_Destroy_Args& args) {
  delete args.executable;
  return {};
}

Status Executable_Name(PJRT_Executable_Name_Args& args) {
  const std::string& name = args.executable->facts->program->name;
  args.executable_name = name.data();
  args.executable_name_size = name.size();
  return {};
}

Status Executable_NumReplicas(PJRT_Executable_NumReplicas_Args& args) {
  args.num_replicas = static_cast<size_t>(args.executable->facts->source.num_replicas);
  return {};
}

Status Executable_NumPartitions(PJRT_Executable_NumPartitions_Args& args) {
  args.num_partitions = static_cast<size_t>(args.executable->facts->source.num_partitions);
  return {};
}

Status Executable_NumOutputs(PJRT_Executable_NumOutputs_Args& args) {
  args.num_outputs = args.executable->facts->output_types.size();
  return {};
}

Status Executable_SizeOfGeneratedCodeInBytes(
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  args.size_in_bytes = args.executable->facts->code_bytes;
  return {};
}

Status Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args& args) {
  args.properties = args.executable->facts->cost.data();
  args.num_properties = args.executable->facts->cost.size();
  return {};
}

Status Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args& args) {
  // The C API forgot a const here.
  args.output_types = const_cast<PJRT_Buffer_Type*>(args.executable->facts->output_types.data());
  args.num_output_types = args.executable->facts->output_types.size();
  return {};
}

Status Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args& args) {
  args.num_outputs = args.executable->facts->output_ranks.size();
  args.dims = args.executable->facts->output_dims.data();
  args.dim_sizes = args.executable->facts->output_ranks.data();
  return {};
}

Status Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args& args) {
  const TextList& kinds = args.executable->facts->output_memory_kinds;
  args.num_outputs = kinds.texts.size();
  args.memory_kinds = kinds.data.data();
  args.memory_kind_sizes = kinds.sizes.data();
  return {};
}

Status Executable_ParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args& args) {
  const TextList& kinds = args.executable->facts->parameter_memory_kinds;
  args.num_parameters = kinds.texts.size();
  args.memory_kinds = kinds.data.data();
  args.memory_kind_sizes = kinds.sizes.data();
  return {};
}

Status Executable_Fingerprint(PJRT_Executable_Fingerprint_Args& args) {
  const std::string& fingerprint = args.executable->facts->fingerprint();
  args.executable_fingerprint = fingerprint.data();
  args.executable_fingerprint_size = fingerprint.size();
  return {};
}

Status Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args& args) {
  using Args = PJRT_Executable_GetCompiledMemoryStats_Args;
  const auto& stats = args.executable->facts->memory_stats;
  if (!stats) return unimplemented("memory statistics of an executable that is not loaded");
  args.generated_code_size_in_bytes = stats->code_bytes;
  args.argument_size_in_bytes = stats->argument_bytes;
  args.output_size_in_bytes = stats->result_bytes;
  args.alias_size_in_bytes = stats->alias_bytes;
  args.temp_size_in_bytes = stats->temp_bytes;
  const auto set = [&](int64_t Args::*field, int64_t value) {
    if (covers(args, field)) args.*field = value;
  };
  for (auto field : {&Args::host_generated_code_size_in_bytes, &Args::host_argument_size_in_bytes,
                     &Args::host_output_size_in_bytes, &Args::host_alias_size_in_bytes,
                     &Args::host_temp_size_in_bytes, &Args::indefinite_allocations}) {
    set(field, 0);
  }
  for (auto field : {&Args::peak_memory_in_bytes, &Args::total_size_in_bytes,
                     &Args::total_allocation_bytes, &Args::peak_unpadded_heap_bytes}) {
    set(field, stats->peak_bytes);
  }
  return {};
}

// The program as it came: what runs is native code, of which there is no other text.
Status Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args& args) {
  static constexpr std::string_view kFormat = "mlir";
  PJRT_Program* const program = args.program;
  if (!program || program->struct_size < PJRT_Program_STRUCT_SIZE) {
    return invalidArgument("program is null or its struct_size is too small");
  }
  const std::string& code = args.executable->facts->source.code;
  if (code.empty()) return unimplemented("the program text of a deserialized executable");
  program->format = kFormat.data();
  program->format_size = kFormat.size();
  if (program->code) {
    if (program->code_size < code.size()) {
      return invalidArgument("code_size is ", program->code_size, ", should be ", code.size());
    }
    std::memcpy(program->code, code.data(), code.size());
  }
  program->code_size = code.size();
  return {};
}

Status Executable_Serialize(PJRT_Executable_Serialize_Args& args) {
  if (!args.executable->facts->source.is_native) {
    return unimplemented("a program that runs on the evaluator cannot be serialized");
  }
  const std::vector<std::byte>& bytes = args.executable->facts->serialized();
  args.serialized_executable = new PJRT_SerializedExecutable{args.executable->facts};
  args.serialized_executable_deleter = [](PJRT_SerializedExecutable* s) { delete s; };
  args.serialized_bytes = reinterpret_cast<const char*>(bytes.data());
  args.serialized_bytes_size = bytes.size();
  return {};
}

Status Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args& args) {
  const std::string& bytes = args.executable->facts->source.compile_options;
  args.serialized_compile_options = new PJRT_SerializedCompileOptions{args.executable->facts};
  args.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions* s) { delete s; };
  args.serialized_bytes = bytes.data();
  args.serialized_bytes_size = bytes.size();
  return {};
}

}  // namespace tercel::pjrt
