#include "runtime/ffi/python_callback.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "runtime/ffi/tercel_ffi.h"

namespace tercel::ffi {
namespace {

// JAX's number for the type of its table of functions.
constexpr int64_t kTableType = 7357244197867843242;

struct Table {
  void* const* functions;
  uint64_t count;
};

struct Target {
  std::string_view name;
  bool in_place;
};

constexpr Target kTargets[] = {
    {"xla_ffi_python_cpu_callback", false},
    {"xla_ffi_partitioned_python_cpu_callback", false},
    {"xla_buffer_python_cpu_callback", true},
};

const Target* targetNamed(std::string_view name) {
  auto found = std::ranges::find(kTargets, name, &Target::name);
  return found == std::end(kTargets) ? nullptr : found;
}

std::atomic<tercel_ffi_python_fn> trampoline{nullptr};

std::string typesOf(const program::CallSignature& signature) {
  std::string text;
  auto append = [&](const program::CallValue& value) {
    text += cat(text.empty() ? "" : " ", toString(value));
  };
  std::ranges::for_each(signature.operands, append);
  text += text.empty() ? ">" : " >";
  std::ranges::for_each(signature.results, append);
  return text;
}

}  // namespace

bool isPythonCallback(std::string_view target) { return targetNamed(target) != nullptr; }

bool canCallPython() { return trampoline.load(std::memory_order_acquire) != nullptr; }

Result<PythonCallback> PythonCallback::create(const engine::CustomCall& call,
                                              const Attributes& attributes) {
  const uint64_t* index = attributes.number("index");
  if (!index) return invalidArgument("its attributes have no index");
  PythonCallback callback;
  callback.index_ = *index;
  callback.in_place_ = targetNamed(call.target)->in_place;
  callback.types_ = typesOf(*call.signature);
  return callback;
}

Status PythonCallback::run(const engine::CustomCall& call, const UserData* user_data) const {
  const Table* table = nullptr;
  for (const auto& [type_id, data] : user_data ? *user_data : UserData()) {
    if (type_id == kTableType) table = static_cast<const Table*>(data);
  }
  if (!table || index_ >= table->count) {
    return failedPrecondition("JAX has passed no Python function number ", index_);
  }
  tercel_ffi_python_fn python = trampoline.load(std::memory_order_acquire);
  if (!python) {
    return failedPrecondition("the Python package tercel, which calls Python, is not loaded");
  }
  std::vector<void*> buffers(call.operands.begin(), call.operands.end());
  buffers.insert(buffers.end(), call.results.begin(), call.results.end());
  if (call.may_block) call.may_block();  // for the interpreter's lock, and whatever it does
  Status failure = internalError("a Python callback failed");
  int code = python(table->functions[index_], types_.c_str(), in_place_, buffers.data(), &failure);
  return code == 0 ? Status() : failure;
}

}  // namespace tercel::ffi

extern "C" void tercel_ffi_set_python(tercel_ffi_python_fn python) {
  tercel::ffi::trampoline.store(python, std::memory_order_release);
}

extern "C" void tercel_ffi_python_failed(void* call, const char* message, size_t size) {
  *static_cast<tercel::Status*>(call) =
      tercel::internalError("CpuCallback error calling callback: ",
                            std::string_view(message, size));
}
