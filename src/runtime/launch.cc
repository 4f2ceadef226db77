#include "runtime/launch.h"

#include <algorithm>
#include <chrono>

#include "runtime/client.h"

namespace tercel::runtime {
namespace {

Status checkArgument(const Executable& executable, size_t i, const Buffer* buffer,
                     const Device* device) {
  const program::Argument& wanted = executable.program().arguments[i];
  if (!buffer) return invalidArgument("argument ", i, " is missing");
  if (buffer->shape() != wanted.shape ||
      !sameInMemory(wanted.shape.dims, buffer->type().layout, wanted.layout)) {
    return invalidArgument("argument ", i, " is ", toString(buffer->type()), "; expected ",
                           toString(ArrayType(wanted.shape, wanted.layout)));
  }
  if (buffer->device() != device) {
    return invalidArgument("argument ", i, " is on device ", buffer->device()->id(),
                           "; expected device ", device->id());
  }
  return Status();
}

Status holdArgument(size_t i, const Buffer& buffer, LaunchWork& work) {
  work.inputs.push_back(buffer.storage());
  if (work.inputs.back()) return Status();
  return invalidArgument("argument ", i, " has been deleted or donated");
}

// A donated buffer must not be an argument a second time.
Status checkDonations(std::span<const std::span<Buffer* const>> arguments,
                      std::span<const std::shared_ptr<LaunchWork>> works) {
  std::vector<const Buffer*> all, given;
  for (size_t d = 0; d < works.size(); ++d) {
    for (size_t i = 0; i < arguments[d].size(); ++i) {
      if (works[d]->donated[i]) given.push_back(arguments[d][i]);
    }
  }
  if (given.empty()) return Status();
  for (const auto& list : arguments) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  for (const Buffer* buffer : given) {
    auto [first, last] = std::equal_range(all.begin(), all.end(), buffer);
    if (last - first > 1) {
      return invalidArgument("a donated buffer of ", toString(buffer->shape()),
                             " is used by two arguments of the same call");
    }
  }
  return Status();
}

std::vector<bool> donations(const program::Program& program, std::span<const int64_t> except) {
  std::vector<bool> donated;
  for (const program::Argument& argument : program.arguments) {
    donated.push_back(argument.aliased_result >= 0 || argument.may_donate);
  }
  for (int64_t i : except) {
    if (i >= 0 && static_cast<size_t>(i) < donated.size()) donated[static_cast<size_t>(i)] = false;
  }
  return donated;
}

std::vector<BufferPtr> makeResults(const Executable& executable, const LaunchWork& work) {
  std::vector<BufferPtr> results;
  results.reserve(work.outputs.size());
  for (size_t k = 0; k < work.outputs.size(); ++k) {
    const program::ResultInfo& info = work.program->results[k];
    results.push_back(std::make_unique<Buffer>(
        BufferType({info.shape, info.layout}, info.is_token),
        work.device->memory(executable.resultMemoryKinds()[k]), work.outputs[k]));
  }
  return results;
}

// The arena of one run.
struct ArenaUse {
  Allocator& allocator;
  int64_t bytes;
  void* data = nullptr;
  ~ArenaUse() { allocator.free(data, bytes); }
};

}  // namespace

bool LaunchWork::inputsReady() const {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const auto& input) { return input->ready().isReady(); });
}

Status LaunchWork::awaitInputs() const {
  for (const auto& input : inputs) TERCEL_TRY(input->ready().await());
  return Status();
}

void LaunchWork::promiseOutputs(const Event& ready) {
  outputs.clear();
  outputs.reserve(program->results.size());
  for (const program::ResultInfo& result : program->results) {
    outputs.push_back(Storage::promised(result.shape.bytes(), ready));
  }
}

Status LaunchWork::run() {
  Status status;
  try {
    status = runReady();
  } catch (const std::bad_alloc&) {
    status = resourceExhausted("no memory to run ", program->name);
  } catch (const CheckFailure& failure) {
    status = Status(Code::internal, failure.message);
  }
  inputs.clear();
  return status;
}

Status LaunchWork::runReady() {
  TERCEL_TRY(awaitInputs());
  SmallVector<void*, 16> args, results;
  for (const auto& input : inputs) args.push_back(input->data());
  TERCEL_TRY(provideOutputs());
  for (const auto& output : outputs) results.push_back(output->data());
  Allocator& allocator = device->allocator();
  ArenaUse arena{allocator, program->arena_bytes};
  if (arena.bytes > 0) {
    TERCEL_ASSIGN(arena.data, allocator.allocate(arena.bytes));
  }
  engine::Invocation invocation;
  invocation.args = args.data();
  invocation.results = results.data();
  invocation.arena = arena.data;
  invocation.use(device->client()->pool());
  invocation.custom_calls = custom_calls.get();
  invocation.may_block = Device::letQueueGoOn;
  invocation.info = info;
  const engine::SubnormalScope scope(device->client()->subnormals());
  if (!measured) return runner->run(invocation);
  const auto start = std::chrono::steady_clock::now();
  const Status status = runner->run(invocation);
  measured->ran(std::chrono::steady_clock::now() - start);
  return status;
}

// A result takes the memory of the argument that is given away for it, where nobody else holds
// that; the runner copies the argument into the result's own memory otherwise.
Status LaunchWork::provideOutputs() {
  for (size_t i = 0; i < inputs.size(); ++i) {
    int32_t k = program->arguments[i].aliased_result;
    if (k >= 0 && donated[i]) outputs[static_cast<size_t>(k)]->steal(inputs[i]);
  }
  for (const auto& output : outputs) {
    if (!output->data()) TERCEL_TRY(output->fill(device->allocator()));
  }
  return Status();
}

Status placeLaunches(const Executable& executable, Device* device, const ExecuteOptions& options,
                     std::span<const std::shared_ptr<LaunchWork>> works) {
  const std::vector<Device*>& devices = executable.devices();
  size_t first = 0;
  if (device) {
    first =
        static_cast<size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin());
    if (first == devices.size() || works.size() != 1) {
      return invalidArgument("executable ", executable.name(), " is not for device ", device->id(),
                             " alone");
    }
  } else if (works.size() != devices.size()) {
    return invalidArgument("executable ", executable.name(), " runs on ", devices.size(),
                           " devices; got arguments for ", works.size());
  }
  int partitions = executable.numPartitions();
  for (size_t d = 0; d < works.size(); ++d) {
    LaunchWork& work = *works[d];
    int place = static_cast<int>(first + d);
    work.device = devices[first + d];
    work.custom_calls = executable.customCalls(options);
    work.info = {work.device->id(), place / partitions, place % partitions, options.launch_id};
  }
  return Status();
}

Status checkArguments(const Executable& executable,
                      std::span<const std::span<Buffer* const>> arguments,
                      const ExecuteOptions& options,
                      std::span<const std::shared_ptr<LaunchWork>> works) {
  const program::Program& program = executable.program();
  for (size_t d = 0; d < works.size(); ++d) {
    if (arguments[d].size() != program.arguments.size()) {
      return invalidArgument("executable ", executable.name(), " takes ", program.arguments.size(),
                             " arguments; got ", arguments[d].size());
    }
    works[d]->inputs.reserve(arguments[d].size());
    for (size_t i = 0; i < arguments[d].size(); ++i) {
      Status status = checkArgument(executable, i, arguments[d][i], works[d]->device);
      if (status.ok()) status = holdArgument(i, *arguments[d][i], *works[d]);
      if (!status.ok()) return status.within(cat("executable ", executable.name()));
    }
    works[d]->donated = donations(program, options.non_donatable);
  }
  return checkDonations(arguments, works);
}

Status takeDonations(std::span<const std::span<Buffer* const>> arguments,
                     std::span<const std::shared_ptr<LaunchWork>> works) {
  for (size_t d = 0; d < works.size(); ++d) {
    LaunchWork& work = *works[d];
    for (size_t i = 0; i < arguments[d].size(); ++i) {
      if (!work.donated[i]) continue;
      // Fails where another thread has deleted the buffer since checkArguments.
      TERCEL_ASSIGN(work.inputs[i], arguments[d][i]->donate());
    }
  }
  return Status();
}

Result<Launch> runNow(const Executable& executable, LaunchWork& work) {
  const Status given = work.awaitInputs();
  Launch launch;
  launch.done = Event(given);
  work.promiseOutputs(launch.done);
  if (given.ok()) TERCEL_TRY(work.run());
  launch.results = makeResults(executable, work);
  return launch;
}

Launch enqueue(const Executable& executable, std::shared_ptr<LaunchWork> work) {
  Launch launch;
  launch.done = Event::pending();
  work->promiseOutputs(launch.done);
  launch.results = makeResults(executable, *work);
  Device* device = work->device;
  device->enqueue([work = std::move(work), done = launch.done]() mutable {
    Status status = work->run();
    work.reset();  // who waits for the event finds all that the run held given back
    done.set(std::move(status));
  });
  return launch;
}

}  // namespace tercel::runtime
