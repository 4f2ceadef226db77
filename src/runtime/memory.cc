#include "runtime/memory.h"

#include "core/status.h"
#include "runtime/device.h"

namespace tercel::runtime {

std::string_view memoryKindName(MemoryKind kind) {
  switch (kind) {
#define MEMORY_KIND(name) \
  case MemoryKind::name:  \
    return #name;
#include "runtime/memory_kinds.def"
  }
  return "";
}

std::optional<MemoryKind> memoryKindFromName(std::string_view name) {
  if (name.empty()) return MemoryKind::device;
#define MEMORY_KIND(id) \
  if (name == #id) return MemoryKind::id;
#include "runtime/memory_kinds.def"
  return std::nullopt;
}

Memory::Memory(int id, MemoryKind kind, Device* device)
    : id_(id),
      kind_(kind),
      device_(device),
      debug_string_(cat("TercelMemory(id=", id, ", kind=", memoryKindName(kind),
                        ", device=", device->id(), ")")),
      to_string_(cat(memoryKindName(kind), " of ", device->toString())) {}

}  // namespace tercel::runtime
