#include "runtime/executable.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "program/validate.h"
#include "runtime/client.h"
#include "runtime/engine/code_names.h"
#include "runtime/engine/loaded_program.h"
#include "runtime/launch.h"

namespace tercel::runtime {
namespace {

// Below this many nanoseconds, of which estimates rather have too many, a program runs on the thread
// that launches it: handing it over wakes another one, and moves what it reads to another cache.
constexpr double kInlineCost = 400e3;
// Or ran as short a time as this before, where the estimate was far too long.
constexpr double kInlineMeasured = 100e3;
// So does one below this, where the waking is still some part of it, if its callers wait for it.
constexpr double kAwaitedCost = 20e6;

template <class Infos>
Result<std::vector<MemoryKind>> memoryKindsOf(const Infos& infos, const char* what) {
  std::vector<MemoryKind> kinds;
  for (const auto& info : infos) {
    std::optional<MemoryKind> kind = memoryKindFromName(info.memory_kind);
    if (!kind) {
      return invalidArgument(what, ' ', kinds.size(), " is in unknown memory ", info.memory_kind);
    }
    kinds.push_back(*kind);
  }
  return kinds;
}

Status fillDevices(const Client& client, ExecutableOptions& options) {
  int64_t wanted = int64_t{options.num_replicas} * options.num_partitions;
  if (options.num_replicas < 1 || options.num_partitions < 1) {
    return invalidArgument("an executable has one replica and one partition at least");
  }
  if (options.devices.empty()) {
    if (wanted > static_cast<int64_t>(client.devices().size())) {
      return invalidArgument("the program needs ", wanted, " devices; there are ",
                             client.devices().size());
    }
    options.devices.assign(client.devices().begin(), client.devices().begin() + wanted);
  }
  if (static_cast<int64_t>(options.devices.size()) != wanted) {
    return invalidArgument("the program needs ", wanted, " devices, not ", options.devices.size());
  }
  for (const Device* device : options.devices) {
    if (!device || device->client() != &client) {
      return invalidArgument("a device of the assignment is not this client's");
    }
  }
  return Status();
}

template <class IsMeant>
bool hasCall(const program::Program& program, IsMeant isMeant) {
  return std::ranges::any_of(program.sequences, [&](const program::Sequence& sequence) {
    return std::ranges::any_of(sequence, [&](const program::Step& step) {
      return step.kind == program::StepKind::custom_call && isMeant(step);
    });
  });
}

bool tellsPython(const program::Step& call) {
  if (!ffi::isPythonCallback(call.name)) return false;
  const Result<program::CallSignature> signature = program::decodeCallSignature(call.values);
  return signature.ok() && signature->has_side_effect;
}

}  // namespace

Executable::~Executable() = default;

Result<std::unique_ptr<Executable>> Executable::create(Client* client, program::Program program,
                                                       ExecutableOptions options) {
  std::unique_ptr<Executable> made(new Executable);
  TERCEL_TRY(fillDevices(*client, options));
  TERCEL_TRY(memoryKindsOf(program.arguments, "argument").status());
  TERCEL_ASSIGN(made->result_kinds_, memoryKindsOf(program.results, "result"));
  made->program_ = std::make_shared<const program::Program>(std::move(program));
  // A runner of its own knows what it calls; its program may be a signature only.
  if (options.runner || hasCall(*made->program_, [](const program::Step&) { return true; })) {
    made->call_sites_ = std::make_shared<ffi::CallSites>();
  }
  made->runs_at_once_ = hasCall(*made->program_, tellsPython);
  if (options.runner) {
    TERCEL_TRY(program::validate(*made->program_));
    made->runner_ = std::move(options.runner);
  } else {
    engine::LoadOptions load;
    if (client->options().perf) load.announce = engine::announceCode;
    TERCEL_ASSIGN(made->runner_, engine::LoadedProgram::load(made->program_, load));
  }
  made->code_bytes_ = made->runner_->codeBytes();
  made->client_ = client;
  made->options_ = std::move(options);
  return made;
}

std::shared_ptr<engine::CustomCallHandler> Executable::customCalls(
    const ExecuteOptions& options) const {
  if (options.custom_calls || !call_sites_) return options.custom_calls;
  return std::make_shared<ffi::Calls>(call_sites_, options.user_data,
                                      ffi::LinearAlgebra(client_->options().linear_algebra));
}

CompiledMemoryStats Executable::memoryStats() const {
  CompiledMemoryStats stats;
  stats.code_bytes = code_bytes_;
  stats.temp_bytes = program_->arena_bytes;
  for (const program::Argument& argument : program_->arguments) {
    stats.argument_bytes += argument.shape.bytes();
    if (argument.aliased_result >= 0) stats.alias_bytes += argument.shape.bytes();
  }
  for (const program::ResultInfo& result : program_->results) {
    stats.result_bytes += result.shape.bytes();
  }
  stats.peak_bytes =
      stats.argument_bytes + stats.result_bytes - stats.alias_bytes + stats.temp_bytes;
  return stats;
}

void Executable::deleteCode() {
  std::shared_ptr<engine::Runner> runner;
  std::lock_guard lock(mutex_);
  runner.swap(runner_);
}

bool Executable::isDeleted() const {
  std::lock_guard lock(mutex_);
  return runner_ == nullptr;
}

bool Executable::isLong() const { return program_->cost >= kInlineCost; }

bool Executable::mayBeAwaited() const {
  if (!isLong()) return false;
  const std::optional<double> measured = measured_->nanoseconds();
  return (measured ? std::min(*measured, program_->cost) : program_->cost) < kAwaitedCost;
}

bool Executable::runsInline(const LaunchWork& work) const {
  if (runs_at_once_ || Device::onQueueThread()) return true;
  const bool is_short = !isLong() || measured_->nanoseconds().value_or(kAwaitedCost) < kInlineMeasured;
  return (is_short || (mayBeAwaited() && habit_->isWaitedFor())) && work.inputsReady();
}

Result<std::vector<Launch>> Executable::execute(std::span<const std::span<Buffer* const>> arguments,
                                                const ExecuteOptions& options, Device* device) try {
  std::vector<std::shared_ptr<LaunchWork>> works;
  {
    std::lock_guard lock(mutex_);
    if (!runner_) return invalidArgument("executable ", name(), " has been deleted");
    for (size_t i = 0; i < arguments.size(); ++i) {
      works.push_back(std::make_shared<LaunchWork>(program_, runner_));
      // How long calls of others take may be up to the thread that launches them.
      if (isLong() && !options.custom_calls && !call_sites_) works.back()->measured = measured_;
    }
  }
  TERCEL_TRY(placeLaunches(*this, device, options, works));
  TERCEL_TRY(checkArguments(*this, arguments, options, works));
  TERCEL_TRY(takeDonations(arguments, works));
  std::vector<Launch> launches;
  if (works.size() == 1 && runsInline(*works[0])) {
    TERCEL_ASSIGN(Launch launch, runNow(*this, *works[0]));
    launches.push_back(std::move(launch));
  } else {
    std::unique_lock<std::mutex> order(client_->launchOrder(), std::defer_lock);
    if (works.size() > 1) order.lock();
    for (std::shared_ptr<LaunchWork>& work : works) launches.push_back(enqueue(*this, work));
  }
  if (mayBeAwaited()) noteLaunch(habit_);
  return launches;
} catch (const std::exception& exception) {
  return resourceExhausted("cannot launch ", name(), ": ", exception.what());
}

}  // namespace tercel::runtime
