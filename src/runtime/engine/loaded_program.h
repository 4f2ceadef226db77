// A Program whose code is in memory, ready to run from any number of threads.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "runtime/engine/object_loader.h"
#include "runtime/engine/runner.h"
#include "runtime/engine/tape.h"
#include "runtime/kernels/isa.h"

namespace tercel::engine {

struct LoadOptions {
  // Finds a kernel by symbol, in place of the program's objects; null where there is none.
  std::function<KernelFn(std::string_view symbol)> resolve;
  void (*announce)(const LoadedCode& code) = nullptr;  // as announceCode does
  std::span<const std::byte> shared;  // Place::shared, aligned; outlives the LoadedProgram
};

class LoadedProgram final : public Runner {
 public:
  // INVALID_ARGUMENT for a malformed program, FAILED_PRECONDITION for another CPU's.
  static Result<std::shared_ptr<LoadedProgram>> load(
      std::shared_ptr<const program::Program> program, const LoadOptions& options = {});
  static Result<std::shared_ptr<LoadedProgram>> load(program::Program program,
                                                     const LoadOptions& options = {});
  ~LoadedProgram() override;

  // What one run needs of its own. Runs find one by themselves, at the price of an atomic operation
  // or a lock; who always runs on one thread keeps one of his own.
  struct Frame {
    std::vector<void*> pointers;
    void* arena = nullptr;  // that `pointers` refer to
    void* own_arena = nullptr;
    Frame() = default;
    Frame(Frame&&) = delete;
    ~Frame();
  };
  using FramePtr = std::unique_ptr<Frame>;
  FramePtr makeFrame() const;

  Status run(const Invocation& invocation) const override;
  Status run(const Invocation& invocation, Frame& frame) const;
  int64_t codeBytes() const override;
  int64_t scratchBytes() const { return tape_.scratch_bytes; }  // of a thread that runs it
  const program::Program& program() const { return *program_; }

 private:
  struct FrameUse;

  LoadedProgram();
  Status findKernels(const LoadOptions& options, std::vector<KernelFn>& kernels);
  Frame* takeFrame() const;
  void giveFrame(Frame* frame) const;
  Status bind(const Invocation& invocation, Frame& frame) const;
  void bindArguments(const Invocation& invocation, Frame& frame) const;
  // From the op `first` of the tape on, until an end.
  Status runOps(const Invocation& invocation, void* const* pointers, uint32_t first) const;
  Status runProduct(const Op& op, const Invocation& invocation, void* const* params) const;
  Status runFork(const Op& op, const Invocation& invocation, void* const* pointers) const;
  Status runParallelLoop(const Op& op, const Invocation& invocation, void* const* pointers) const;
  Status runTurns(const ParallelLoopSite& site, int64_t begin, int64_t end,
                  const Invocation& alone, void* const* pointers) const;
  Status runParallel(const Op& op, const Invocation& invocation, void* const* pointers) const;
  Status runSideBySide(const Op* op, const Invocation& invocation, void* const* pointers) const;
  Status runSort(const Op& op, const Invocation& invocation, void* const* pointers) const;
  Status runCustomCall(const Op& op, const Invocation& invocation, void* const* pointers) const;

  std::shared_ptr<const program::Program> program_;
  LoadedCode code_;
  const std::byte* shared_ = nullptr;
  kernels::Isa isa_ = kernels::Isa::baseline;
  Tape tape_;
  mutable std::atomic<Frame*> hot_frame_{nullptr};
  mutable std::mutex mutex_;
  mutable std::vector<FramePtr> frames_;
};

}  // namespace tercel::engine
