#include "runtime/engine/tape.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/integers.h"
#include "program/product_slots.h"
#include "runtime/engine/parts.h"
#include "runtime/engine/stretches.h"

namespace tercel::engine {
namespace {

using program::Place;
using program::Slot;
using program::Step;
using program::StepKind;

class TapeMaker {
 public:
  TapeMaker(const program::Program& program, const std::vector<KernelFn>& kernels)
      : program_(program), kernels_(kernels) {}

  Tape make() {
    sequence(0);
    emit(OpCode::end);
    for (const program::Kernel& kernel : program_.kernels) {
      tape_.scratch_bytes = std::max(tape_.scratch_bytes, kernel.scratch_bytes);
    }
    makeRoomForTurns();
    return std::move(tape_);
  }

 private:
  void makeRoomForTurns() {
    constexpr int64_t kAlign = 64;
    auto aligned = [](int64_t bytes) { return roundUp(bytes, kAlign); };
    if (tape_.parallel_loops.empty()) return;
    uint32_t pointers = 0;
    for (const auto& loop : tape_.parallel_loops) pointers = std::max(pointers, loop.count);
    tape_.turn_offset = aligned(tape_.scratch_bytes);
    tape_.turn_pointers_offset = tape_.turn_offset + aligned(program_.turn_bytes);
    tape_.scratch_bytes = tape_.turn_pointers_offset + pointers * int64_t{sizeof(void*)};
  }

  uint32_t here() const { return static_cast<uint32_t>(tape_.ops.size()); }

  uint32_t emit(OpCode code, uint32_t params = 0) {
    tape_.ops.push_back({.code = code, .params = params});
    return here() - 1;
  }

  uint32_t pointers(const Step& step) {
    uint32_t first = tape_.pointers;
    for (uint32_t id : step.slots) patch(tape_.pointers++, program_.slots[id]);
    return first;
  }

  void patch(uint32_t at, const Slot& slot) {
    switch (slot.place) {
      case Place::argument: {
        int32_t k = program_.arguments[slot.index].aliased_result;
        if (k < 0) return tape_.argument_patches.push_back({at, slot.index, slot.offset});
        return tape_.result_patches.push_back({at, static_cast<uint32_t>(k), slot.offset});
      }
      case Place::result:
        return tape_.result_patches.push_back({at, slot.index, slot.offset});
      case Place::arena:
        return tape_.arena_patches.push_back({at, 0, slot.offset});
      case Place::constant:
      case Place::shared:
        return tape_.constant_patches.push_back({at, slot.place == Place::shared, slot.offset});
      case Place::turn:
        return turn_patches_.push_back({at, 0, slot.offset});
    }
  }

  void sequence(uint32_t id) {
    const program::Sequence& steps = program_.sequences[id];
    std::vector<Stretch> stretches = findStretches(program_, steps);
    auto next = stretches.begin();
    for (size_t i = 0; i < steps.size(); ++i) {
      if (next != stretches.end() && next->begin == i) sideBySide(*next++);
      emitStep(steps[i]);
    }
  }

  void sideBySide(const Stretch& stretch) {
    Op& op = tape_.ops[emit(OpCode::side_by_side)];
    op.tasks = static_cast<int64_t>(stretch.end - stretch.begin);
    op.grain = stretch.grain;
  }

  void emitStep(const Step& step) {
    switch (step.kind) {
      case StepKind::kernel:
        return kernel(step);
      case StepKind::copy:
        return copy(step);
      case StepKind::while_loop:
        return whileLoop(step);
      case StepKind::branch:
        return branch(step);
      case StepKind::fork:
        return fork(step);
      case StepKind::sort:
        return sort(step);
      case StepKind::custom_call:
        return customCall(step);
      case StepKind::fft:
        return fft(step);
      case StepKind::concatenate:
        return concatenate(step);
      case StepKind::parallel_loop:
        return parallelLoop(step);
    }
  }

  // Watching costs some 50 cycles.
  static bool isWatchedProduct(const Step& step) {
    constexpr double kWorthWatching = 2000;
    return parts().rescale && !step.text.empty() && step.cost >= kWorthWatching;
  }

  uint32_t product(const Step& step) {
    ProductSite site{.kernel = step.target, .params = static_cast<uint32_t>(step.slots.size())};
    const program::ProductSlots slots = **productSlots(step);
    auto count = [&](uint32_t k) {
      return program_.slots[step.slots[k]].bytes / int64_t{sizeof(float)};
    };
    site.operands = slots.operands;
    for (size_t k = 0; k < site.operands.size(); ++k) site.counts[k] = count(site.operands[k]);
    site.sums = slots.sums;
    if (site.sums) site.sums_count = count(*site.sums);
    site.history = std::make_unique<SubnormalHistory>();
    tape_.products.push_back(std::move(site));
    return static_cast<uint32_t>(tape_.products.size() - 1);
  }

  void kernel(const Step& step) {
    if (step.tasks == 0) return;
    const bool is_product = isWatchedProduct(step);
    OpCode code = is_product             ? OpCode::product
                  : isSerialKernel(step) ? OpCode::kernel
                                         : OpCode::parallel_kernel;
    Op& op = tape_.ops[emit(code, pointers(step))];
    op.fn = kernels_[step.target];
    op.tasks = step.tasks;
    op.grain = step.grain;
    op.target = is_product ? product(step) : step.target;
  }

  void copy(const Step& step) {
    int64_t bytes = program_.slots[step.slots[1]].bytes;
    if (bytes > 0) tape_.ops[emit(OpCode::copy, pointers(step))].tasks = bytes;
  }

  void whileLoop(const Step& step) {
    uint32_t condition = here();
    sequence(step.target);
    uint32_t leave = emit(OpCode::jump_unless, pointers(step));
    sequence(step.sequences[0]);
    tape_.ops[emit(OpCode::jump)].target = condition;
    tape_.ops[leave].target = here();
  }

  void parallelLoop(const Step& step) {
    if (step.tasks == 0) return;
    const uint32_t loop = emit(OpCode::parallel_loop);
    ParallelLoopSite site;
    site.first = tape_.pointers;
    site.body = here();
    sequence(step.sequences[0]);
    emit(OpCode::end);
    site.end = here();
    site.count = tape_.pointers - site.first;
    site.turn_patches = std::exchange(turn_patches_, {});
    site.count_offset = program_.slots[step.slots[0]].offset;
    site.count_bytes = step.values[2];
    site.first_count = step.values[0];
    site.step = step.values[1];
    Op& op = tape_.ops[loop];
    op.tasks = step.tasks;
    op.grain = step.grain;
    op.target = static_cast<uint32_t>(tape_.parallel_loops.size());
    tape_.parallel_loops.push_back(std::move(site));
  }

  void branch(const Step& step) {
    bool pred = step.values[0] == 1;
    Op& select = tape_.ops[emit(pred ? OpCode::select_pred : OpCode::select_index, pointers(step))];
    size_t count = step.sequences.size();
    uint32_t first = select.target = static_cast<uint32_t>(tape_.targets.size());
    select.tasks = static_cast<int64_t>(count);
    tape_.targets.resize(first + count);
    std::vector<uint32_t> leaves;
    for (size_t i = 0; i < count; ++i) {
      tape_.targets[first + i] = here();
      sequence(step.sequences[i]);
      leaves.push_back(emit(OpCode::jump));
    }
    for (uint32_t leave : leaves) tape_.ops[leave].target = here();
  }

  void fork(const Step& step) {
    const size_t count = step.sequences.size();
    Op& op = tape_.ops[emit(OpCode::fork)];
    const uint32_t first = op.target = static_cast<uint32_t>(tape_.targets.size());
    op.tasks = static_cast<int64_t>(count);
    tape_.targets.resize(first + count + 1);
    for (size_t i = 0; i < count; ++i) {
      tape_.targets[first + i] = here();
      sequence(step.sequences[i]);
      emit(OpCode::end);
    }
    tape_.targets[first + count] = here();
  }

  void sort(const Step& step) {
    const program::Kernel& comparator = program_.kernels[step.target];
    SortSite site;
    site.sort.compare = kernels_[step.target];
    site.sort.scratch_bytes = std::max<int64_t>(1, comparator.scratch_bytes);
    site.sort.outer = step.values[0];
    site.sort.length = step.values[1];
    site.sort.inner = step.values[2];
    site.sort.kept = step.values[3];
    site.sort.element_bytes = std::span(step.values).subspan(4);
    if (auto keys = parseSortKeys(step.text)) site.keys = std::move(*keys);
    site.operands = static_cast<uint32_t>(step.slots.size() / 2);
    Op& op = tape_.ops[emit(OpCode::sort, pointers(step))];
    op.target = static_cast<uint32_t>(tape_.sorts.size());
    tape_.sorts.push_back(std::move(site));
  }

  void concatenate(const Step& step) {
    Op& op = tape_.ops[emit(OpCode::concatenate, pointers(step))];
    op.target = static_cast<uint32_t>(tape_.concatenations.size());
    kernels::Concatenation shape{.rows = step.values[0],
                                 .bytes = {step.values.begin() + 1, step.values.end()}};
    shape.result_bytes = std::accumulate(shape.bytes.begin(), shape.bytes.end(), int64_t{0});
    tape_.concatenations.push_back(std::move(shape));
  }

  void fft(const Step& step) {
    Op& op = tape_.ops[emit(OpCode::fft, pointers(step))];
    op.target = static_cast<uint32_t>(tape_.ffts.size());
    tape_.ffts.push_back(makeFftOf(step)({.kind = kernels::FftKind(step.values[0]),
                                          .batch = step.values[2],
                                          .lengths = std::span(step.values).subspan(3)}));
  }

  void customCall(const Step& step) {
    Op& op = tape_.ops[emit(OpCode::custom_call, pointers(step))];
    op.target = static_cast<uint32_t>(tape_.custom_calls.size());
    Result<program::CallSignature> signature = program::decodeCallSignature(step.values);
    TERCEL_CHECK(signature.ok(), "a step that validate() let pass");
    CustomCallSite site{&step, std::move(*signature), {}};
    if (parts().find_linalg) site.own = parts().find_linalg(step.name);
    if (parts().prefers_linalg) site.is_preferred = parts().prefers_linalg(step.name);
    for (const auto& value : site.signature.operands) site.bytes.push_back(value.bytes());
    for (const auto& value : site.signature.results) site.bytes.push_back(value.bytes());
    tape_.custom_calls.push_back(std::move(site));
  }

  const program::Program& program_;
  const std::vector<KernelFn>& kernels_;
  Tape tape_;
  std::vector<Patch> turn_patches_;  // of the parallel_loop being made
};

}  // namespace

Tape makeTape(const program::Program& program, const std::vector<KernelFn>& kernels) {
  return TapeMaker(program, kernels).make();
}

}  // namespace tercel::engine
