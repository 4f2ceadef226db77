// A program loaded for some devices, ready to run on buffers.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/buffer.h"
#include "runtime/engine/runner.h"
#include "runtime/ffi/calls.h"
#include "runtime/launch_habit.h"
#include "runtime/measured_cost.h"

namespace tercel::runtime {

class Client;
struct LaunchWork;

struct ExecutableOptions {
  // [replica * num_partitions + partition]; empty: the client's first device.
  std::vector<Device*> devices;
  int num_replicas = 1;
  int num_partitions = 1;
  // Runs the program in place of its native code (TERCEL_EVAL); null: LoadedProgram.
  std::shared_ptr<engine::Runner> runner;
};

struct ExecuteOptions {
  int64_t launch_id = 0;
  std::span<const int64_t> non_donatable;  // argument numbers; read during the call only
  std::shared_ptr<const ffi::UserData> user_data;  // for custom calls; may be null
  // Runs the custom calls in place of the handlers registered; lives until the launch is done.
  std::shared_ptr<engine::CustomCallHandler> custom_calls;
};

// One device's part of a launch.
struct Launch {
  std::vector<BufferPtr> results;  // there at once; their events tell when they are ready
  Event done;                      // with the launch's error
};

struct CompiledMemoryStats {
  int64_t code_bytes = 0;
  int64_t argument_bytes = 0;
  int64_t result_bytes = 0;
  int64_t alias_bytes = 0;  // of arguments that share memory with a result
  int64_t temp_bytes = 0;   // arena
  int64_t peak_bytes = 0;
};

class Executable {
 public:
  // INVALID_ARGUMENT for a malformed program, FAILED_PRECONDITION for another machine's code.
  static Result<std::unique_ptr<Executable>> create(Client* client, program::Program program,
                                                    ExecutableOptions options = {});
  ~Executable();

  Client* client() const { return client_; }
  const program::Program& program() const { return *program_; }  // signature, cost, flops
  const std::string& name() const { return program_->name; }
  const std::vector<Device*>& devices() const { return options_.devices; }
  int numReplicas() const { return options_.num_replicas; }
  int numPartitions() const { return options_.num_partitions; }
  // An unnamed one is `device`.
  std::span<const MemoryKind> resultMemoryKinds() const { return result_kinds_; }
  CompiledMemoryStats memoryStats() const;

  // What runs the custom calls of one execution.
  std::shared_ptr<engine::CustomCallHandler> customCalls(const ExecuteOptions& options) const;

  // Runs once on each of `arguments.size()` devices, which must be all of devices() or one of
  // them: then `device` says which. Errors of the call itself (number, shape, deleted, donated
  // twice) are returned and leave every buffer as it was. Errors of running are returned by what
  // is small enough to run before this returns, and else travel on the events; the arguments' own
  // do always. Donated arguments are deleted when this returns.
  Result<std::vector<Launch>> execute(std::span<const std::span<Buffer* const>> arguments,
                                      const ExecuteOptions& options = {},
                                      Device* device = nullptr);

  void deleteCode();  // later execute() calls fail as INVALID_ARGUMENT
  bool isDeleted() const;

 private:
  Executable() = default;

  bool isLong() const;  // by the estimate: worth to be measured
  bool mayBeAwaited() const;
  // On the thread that launches it.
  bool runsInline(const LaunchWork& work) const;

  Client* client_ = nullptr;
  ExecutableOptions options_;
  std::shared_ptr<const program::Program> program_;
  std::shared_ptr<ffi::CallSites> call_sites_;  // null: there are none
  // On the caller's thread: it calls Python for what that does, and users of XLA:CPU count on that
  // being done, or its error raised, when the call returns.
  bool runs_at_once_ = false;
  const std::shared_ptr<LaunchHabit> habit_ = std::make_shared<LaunchHabit>();
  const std::shared_ptr<MeasuredCost> measured_ = std::make_shared<MeasuredCost>();
  std::vector<MemoryKind> result_kinds_;
  mutable std::mutex mutex_;
  std::shared_ptr<engine::Runner> runner_;  // null: deleted
  int64_t code_bytes_ = 0;
};

}  // namespace tercel::runtime
