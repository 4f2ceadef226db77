// A kind of memory of one device. On a CPU all kinds are ordinary memory; JAX asks by name.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tercel::runtime {

class Device;

enum class MemoryKind : uint8_t {
#define MEMORY_KIND(name) name,
#include "runtime/memory_kinds.def"
};
std::string_view memoryKindName(MemoryKind kind);
// The empty name is `device`.
std::optional<MemoryKind> memoryKindFromName(std::string_view name);

class Memory {
 public:
  Memory(int id, MemoryKind kind, Device* device);
  int id() const { return id_; }           // unique in the client
  MemoryKind kind() const { return kind_; }
  std::string_view kindName() const { return memoryKindName(kind_); }
  int kindId() const { return static_cast<int>(kind_) + 1; }  // unique by kind, not zero
  Device* device() const { return device_; }
  const std::string& debugString() const { return debug_string_; }
  const std::string& toString() const { return to_string_; }

 private:
  int id_;
  MemoryKind kind_;
  Device* device_;
  std::string debug_string_;
  std::string to_string_;
};

}  // namespace tercel::runtime
