#include "runtime/engine/loaded_program.h"

#include <new>

#include "program/validate.h"
#include "runtime/engine/host.h"
#include "runtime/engine/parts.h"

namespace tercel::engine {

struct LoadedProgram::FrameUse {
  explicit FrameUse(const LoadedProgram& program) : program(program), frame(program.takeFrame()) {}
  ~FrameUse() { program.giveFrame(frame); }
  const LoadedProgram& program;
  Frame* frame;
};

LoadedProgram::LoadedProgram() = default;
LoadedProgram::~LoadedProgram() { delete hot_frame_.load(); }

Result<std::shared_ptr<LoadedProgram>> LoadedProgram::load(program::Program program,
                                                           const LoadOptions& options) {
  return load(std::make_shared<const program::Program>(std::move(program)), options);
}

Result<std::shared_ptr<LoadedProgram>> LoadedProgram::load(
    std::shared_ptr<const program::Program> program, const LoadOptions& options) try {
  TERCEL_TRY(program::validate(*program));
  TERCEL_TRY(checkCpu(program->architecture, program->target_features));
  TERCEL_TRY(checkParts(*program));
  if (program->shared_bytes > static_cast<int64_t>(options.shared.size()))
    return invalidArgument("the program's shared constants are not there");
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram);
  loaded->program_ = std::move(program);
  loaded->shared_ = options.shared.data();
  loaded->isa_ = kernels::isaOf(loaded->program_->target_features);
  std::vector<KernelFn> kernels;
  TERCEL_TRY(loaded->findKernels(options, kernels));
  loaded->tape_ = makeTape(*loaded->program_, kernels);
  return loaded;
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to load a program");
}

Status LoadedProgram::findKernels(const LoadOptions& options, std::vector<KernelFn>& kernels) {
  if (!options.resolve && !program_->objects.empty()) {
    std::vector<ObjectBytes> objects(program_->objects.begin(), program_->objects.end());
    TERCEL_ASSIGN(code_, LoadedCode::load(objects));
    if (options.announce) options.announce(code_);
  }
  for (const program::Kernel& kernel : program_->kernels) {
    KernelFn fn = options.resolve ? options.resolve(kernel.symbol)
                                  : reinterpret_cast<KernelFn>(code_.find(kernel.symbol));
    if (!fn) return invalidArgument("the program has no code for kernel ", kernel.symbol);
    kernels.push_back(fn);
  }
  return Status();
}

int64_t LoadedProgram::codeBytes() const { return static_cast<int64_t>(code_.mapping().size()); }

LoadedProgram::Frame* LoadedProgram::takeFrame() const {
  if (Frame* frame = hot_frame_.exchange(nullptr, std::memory_order_acquire)) return frame;
  {
    std::lock_guard lock(mutex_);
    if (!frames_.empty()) {
      Frame* frame = frames_.back().release();
      frames_.pop_back();
      return frame;
    }
  }
  return makeFrame().release();
}

LoadedProgram::FramePtr LoadedProgram::makeFrame() const {
  FramePtr frame(new Frame);
  frame->pointers.resize(tape_.pointers);
  const std::byte* constants[] = {program_->constants.data(), shared_};
  for (const Patch& patch : tape_.constant_patches) {
    frame->pointers[patch.at] = const_cast<std::byte*>(constants[patch.index] + patch.offset);
  }
  return frame;
}

void LoadedProgram::giveFrame(Frame* frame) const {
  Frame* none = nullptr;
  if (hot_frame_.compare_exchange_strong(none, frame, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    return;
  }
  FramePtr owned(frame);
  std::lock_guard lock(mutex_);
  try {
    frames_.push_back(std::move(owned));
  } catch (const std::bad_alloc&) {
    // The frame is given up: the next run makes another.
  }
}

Status LoadedProgram::run(const Invocation& invocation) const try {
  FrameUse use(*this);
  return run(invocation, *use.frame);
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to run a program");
}

}  // namespace tercel::engine
