#include "runtime/ffi/registry.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "runtime/ffi/api.h"
#include "runtime/ffi/error.h"

namespace tercel::ffi {
namespace {

// Far from the small numbers that XLA gives in the same process.
constexpr int64_t kFirstTypeId = int64_t{1} << 40;

std::atomic<void (*)()> lapack{nullptr};

struct Type {
  int64_t id;
  Deleter deleter;
};

struct Tables {
  std::mutex mutex;
  std::map<std::string, Handler, std::less<>> handlers;
  std::map<std::string, Type, std::less<>> types;
  int64_t next_type_id = kFirstTypeId;
};

// Never destroyed: queues may run until the process ends.
Tables& tables() {
  static Tables& tables = *new Tables;
  return tables;
}

Status readMetadata(XLA_FFI_Handler* handler, XLA_FFI_Metadata& metadata) {
  metadata = {.struct_size = XLA_FFI_Metadata_STRUCT_SIZE};
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension = {};
  extension.base = {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, nullptr};
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.base;
  frame.api = &api();
  return takeError(handler(&frame));
}

Status add(std::string_view target, const Handler& handler) {
  Tables& t = tables();
  std::lock_guard lock(t.mutex);
  const Handler& there = t.handlers.try_emplace(std::string(target), handler).first->second;
  bool same = std::equal(there.stages, there.stages + kFfiStages, handler.stages) &&
              there.untyped == handler.untyped;
  if (same) return Status();
  return Status(Code::already_exists, cat("custom call \"", target, "\" has another handler"));
}

}  // namespace

Status registerHandler(std::string_view target, const XLA_FFI_Handler_Bundle& bundle) {
  if (!bundle.execute) return invalidArgument("custom call \"", target, "\": nothing to execute");
  Handler handler{{bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute}};
  for (XLA_FFI_Handler* stage : handler.stages) {
    if (!stage) continue;
    XLA_FFI_Metadata metadata;
    TERCEL_TRY(readMetadata(stage, metadata).within(cat("custom call \"", target, '"')));
    const XLA_FFI_Api_Version& version = metadata.api_version;
    if (version.major_version != XLA_FFI_API_MAJOR) {
      return unimplemented("custom call \"", target, "\" is of FFI version ",
                           version.major_version, '.', version.minor_version);
    }
    handler.minor_version = version.minor_version;
  }
  return add(target, handler);
}

Status registerUntyped(std::string_view target, void* function) {
  if (!function) return invalidArgument("custom call \"", target, "\": nothing to execute");
  Handler handler;
  handler.untyped = function;
  return add(target, handler);
}

std::optional<Handler> findHandler(std::string_view target) {
  Tables& t = tables();
  std::lock_guard lock(t.mutex);
  auto found = t.handlers.find(target);
  if (found == t.handlers.end()) return std::nullopt;
  return found->second;
}

void setLapack(void (*initialize)()) { lapack.store(initialize, std::memory_order_release); }

void initializeLapack() {
  if (auto* initialize = lapack.load(std::memory_order_acquire)) initialize();
}

Status registerType(std::string_view name, int64_t& type_id, Deleter deleter) {
  Tables& t = tables();
  std::lock_guard lock(t.mutex);
  auto [at, is_new] = t.types.try_emplace(std::string(name), Type{type_id, deleter});
  Type& type = at->second;
  if (is_new && type.id == 0) type.id = t.next_type_id++;
  if (type_id != 0 && type.id != type_id) {
    return Status(Code::already_exists, cat("type ", name, " has the id ", type.id));
  }
  if (!type.deleter) type.deleter = deleter;
  type_id = type.id;
  return Status();
}

std::optional<Deleter> deleterOf(int64_t type_id) {
  Tables& t = tables();
  std::lock_guard lock(t.mutex);
  for (const auto& [name, type] : t.types) {
    if (type.id == type_id) return type.deleter;
  }
  return std::nullopt;
}

}  // namespace tercel::ffi
