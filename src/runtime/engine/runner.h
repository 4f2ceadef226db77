// What it takes to run a program once, and the seam behind which something can: LoadedProgram runs
// native code; another Runner may interpret.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "core/status.h"
#include "program/call_signature.h"
#include "runtime/kernels/parallel.h"

namespace tercel::engine {

class ThreadPool;

// Which run this is, for custom calls and collectives.
struct RunInfo {
  int device_id = 0;
  int replica_id = 0;
  int partition_id = 0;
  int64_t launch_id = 0;  // equal on all devices of one launch
};

struct CustomCall {
  std::string_view target;         // the step's name
  std::string_view configuration;  // the step's text
  const void* site = nullptr;      // identifies the step while its program is loaded
  const program::CallSignature* signature = nullptr;
  std::span<void* const> operands;
  std::span<void* const> results;
  std::span<const int64_t> operand_bytes;
  std::span<const int64_t> result_bytes;
  const RunInfo* run = nullptr;
  ThreadPool* pool = nullptr;
  // To be called before waiting for anything but arithmetic; null: nobody minds.
  void (*may_block)() = nullptr;
};

class CustomCallHandler {
 public:
  virtual ~CustomCallHandler() = default;
  // UNIMPLEMENTED naming the target where it is not known. Must not throw.
  virtual Status call(const CustomCall& call) = 0;
  // Whether it serves this target although the engine has a function, preferred or not, for it.
  virtual bool replaces(std::string_view, [[maybe_unused]] bool is_preferred) const {
    return false;
  }
};

// All pointers stay the caller's. An argument whose aliased_result is k lives in results[k] while
// the program runs: it is copied there first where the two pointers differ, and else overwritten.
struct Invocation {
  void* const* args = nullptr;
  void* const* results = nullptr;
  void* arena = nullptr;       // arena_bytes, 64-byte aligned; null: the runner's own
  kernels::Parallel parallel;  // of nobody: everything on the calling thread
  ThreadPool* pool = nullptr;  // the same, for custom calls; null: nobody's
  CustomCallHandler* custom_calls = nullptr;
  void (*may_block)() = nullptr;  // for custom calls
  RunInfo info;

  void use(ThreadPool* threads);
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Several threads may run at once.
  virtual Status run(const Invocation& invocation) const = 0;
  // Bytes of native code, 0 where there is none.
  virtual int64_t codeBytes() const { return 0; }
};

}  // namespace tercel::engine
