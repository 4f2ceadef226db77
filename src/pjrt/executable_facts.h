// All that the C API can ask of an executable but to run it: made once, shared by every handle.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pjrt/handles.h"
#include "program/program.h"

namespace tercel::pjrt {

// A list of texts in the two arrays that the C API wants.
struct TextList {
  explicit TextList(std::vector<std::string> texts);
  TextList(const TextList&) = delete;
  TextList& operator=(const TextList&) = delete;

  const std::vector<std::string> texts;
  std::vector<const char*> data;
  std::vector<size_t> sizes;
};

struct LayoutList {
  explicit LayoutList(std::vector<PJRT_Layouts_MemoryLayout> layouts);
  LayoutList(const LayoutList&) = delete;
  LayoutList& operator=(const LayoutList&) = delete;

  std::vector<PJRT_Layouts_MemoryLayout> layouts;
  std::vector<PJRT_Layouts_MemoryLayout*> pointers;
};

struct ExecutableSource {
  std::string code;             // as the client gave it; empty: not known
  std::string compile_options;  // serialized CompileOptionsProto
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;
  bool is_native = true;  // false: the program is a signature only, and the evaluator runs
};

struct ExecutableFacts {
  // `memory_stats` are known once the program is loaded.
  ExecutableFacts(std::shared_ptr<const program::Program> program, ExecutableSource source,
                  std::optional<runtime::CompiledMemoryStats> memory_stats);

  // Made when first asked for. serialized() is for native programs.
  const std::vector<std::byte>& serialized() const;
  const std::string& fingerprint() const;

  const std::shared_ptr<const program::Program> program;
  const ExecutableSource source;
  const std::optional<runtime::CompiledMemoryStats> memory_stats;
  const int64_t code_bytes;
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;  // of all outputs
  std::vector<size_t> output_ranks;
  const TextList parameter_memory_kinds;
  const TextList output_memory_kinds;
  // Serialized xla.OpSharding; null where there is one device.
  std::unique_ptr<const TextList> parameter_shardings;
  std::unique_ptr<const TextList> output_shardings;
  const LayoutList parameter_layouts;
  const LayoutList output_layouts;
  const Attributes cost;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::byte> serialized_;
  mutable std::string fingerprint_;
};

}  // namespace tercel::pjrt
