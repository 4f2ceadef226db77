// One device's part of a running Executable: what Executable::execute is made of.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/small_vector.h"
#include "runtime/executable.h"

namespace tercel::runtime {

struct LaunchWork {
  LaunchWork(std::shared_ptr<const program::Program> program,
             std::shared_ptr<engine::Runner> runner)
      : program(std::move(program)), runner(std::move(runner)) {}

  bool inputsReady() const;
  // The first error of the inputs, once they are there.
  Status awaitInputs() const;
  // Waits for the inputs, finds memory for the outputs and runs. Drops the inputs in any case.
  Status run();
  // New promised storages for all results.
  void promiseOutputs(const Event& ready);

  std::shared_ptr<const program::Program> program;
  std::shared_ptr<engine::Runner> runner;
  std::shared_ptr<MeasuredCost> measured;  // null: nobody asks how long it runs
  std::shared_ptr<engine::CustomCallHandler> custom_calls;
  Device* device = nullptr;
  engine::RunInfo info;
  std::vector<bool> donated;  // of each argument
  std::vector<std::shared_ptr<Storage>> inputs;
  std::vector<std::shared_ptr<Storage>> outputs;

 private:
  Status runReady();
  Status provideOutputs();
};

// Sets the device and the numbers of each work.
Status placeLaunches(const Executable& executable, Device* device, const ExecuteOptions& options,
                     std::span<const std::shared_ptr<LaunchWork>> works);
// Everything that can be wrong with the arguments; changes no buffer. The works hold their storages.
Status checkArguments(const Executable& executable,
                      std::span<const std::span<Buffer* const>> arguments,
                      const ExecuteOptions& options,
                      std::span<const std::shared_ptr<LaunchWork>> works);
// Makes the storages of donated arguments the works' alone.
Status takeDonations(std::span<const std::span<Buffer* const>> arguments,
                     std::span<const std::shared_ptr<LaunchWork>> works);
// On this thread: the error of running is returned, that of an input is the results' too.
Result<Launch> runNow(const Executable& executable, LaunchWork& work);
Launch enqueue(const Executable& executable, std::shared_ptr<LaunchWork> work);

}  // namespace tercel::runtime
