#include "pjrt/executable_facts.h"

#include "pjrt/element_type.h"
#include "pjrt/layout.h"
#include "program/file_header.h"
#include "program/format.h"

namespace tercel::pjrt {
namespace {

template <class Values>
std::vector<std::string> memoryKinds(const Values& values) {
  std::vector<std::string> kinds;
  for (const auto& value : values) {
    kinds.push_back(value.memory_kind.empty() ? "device" : value.memory_kind);
  }
  return kinds;
}

template <class Values>
std::vector<PJRT_Layouts_MemoryLayout> layouts(const Values& values) {
  std::vector<PJRT_Layouts_MemoryLayout> list;
  for (const auto& value : values) list.push_back({layoutText(value.layout, value.shape.dims.size())});
  return list;
}

constexpr std::string_view kReplicated("\x08\x00", 2);  // as an xla.OpSharding

// Programs are not partitioned yet: what runs on several devices is the same on each.
std::unique_ptr<const TextList> replicated(const ExecutableSource& source, size_t count) {
  if (source.num_replicas * source.num_partitions == 1) return nullptr;
  return std::make_unique<TextList>(std::vector(count, std::string(kReplicated)));
}

int64_t codeBytes(const program::Program& program) {
  int64_t bytes = 0;
  for (const auto& object : program.objects) bytes += static_cast<int64_t>(object.size());
  return bytes;
}

std::map<std::string, NamedValue> costOf(const program::Program& program) {
  return {{"flops", static_cast<float>(program.flops)},
          {"bytes accessed", static_cast<float>(program.bytes_accessed)},
          {"optimal_seconds", static_cast<float>(program.cost * 1e-9)}};
}

}  // namespace

TextList::TextList(std::vector<std::string> t) : texts(std::move(t)) {
  for (const std::string& text : texts) {
    data.push_back(text.data());
    sizes.push_back(text.size());
  }
}

LayoutList::LayoutList(std::vector<PJRT_Layouts_MemoryLayout> l) : layouts(std::move(l)) {
  for (PJRT_Layouts_MemoryLayout& layout : layouts) pointers.push_back(&layout);
}

ExecutableFacts::ExecutableFacts(std::shared_ptr<const program::Program> p, ExecutableSource s,
                                 std::optional<runtime::CompiledMemoryStats> stats)
    : program(std::move(p)),
      source(std::move(s)),
      memory_stats(stats),
      code_bytes(stats ? stats->code_bytes : codeBytes(*program)),
      parameter_memory_kinds(memoryKinds(program->arguments)),
      output_memory_kinds(memoryKinds(program->results)),
      parameter_shardings(replicated(source, program->arguments.size())),
      output_shardings(replicated(source, program->results.size())),
      parameter_layouts(layouts(program->arguments)),
      output_layouts(layouts(program->results)),
      cost(costOf(*program)) {
  for (const program::ResultInfo& result : program->results) {
    const Dims& dims = result.shape.dims;
    output_types.push_back(result.is_token ? PJRT_Buffer_Type_TOKEN : wrap(result.shape.dtype));
    output_dims.insert(output_dims.end(), dims.begin(), dims.end());
    output_ranks.push_back(dims.size());
  }
}

const std::vector<std::byte>& ExecutableFacts::serialized() const {
  const std::lock_guard lock(mutex_);
  if (serialized_.empty()) serialized_ = program::serialize(*program);
  return serialized_;
}

const std::string& ExecutableFacts::fingerprint() const {
  const std::span<const std::byte> bytes =
      source.is_native ? std::span(serialized()) : std::as_bytes(std::span(source.code));
  const std::lock_guard lock(mutex_);
  if (fingerprint_.empty()) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    for (uint64_t hash = program::hashBytes(bytes); fingerprint_.size() < 16; hash <<= 4) {
      fingerprint_ += kDigits[hash >> 60];
    }
  }
  return fingerprint_;
}

}  // namespace tercel::pjrt
