// How a LoadedProgram runs its tape: one op after the other, and what runs at once.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>

#include "runtime/engine/debug_print.h"
#include "runtime/engine/loaded_program.h"
#include "runtime/engine/parts.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::engine {
namespace {

constexpr int64_t kCopyTask = 256 << 10;  // bytes that make a task worth its start

Status noScratch(int64_t bytes) {
  return resourceExhausted("no memory for ", bytes, " bytes of kernel scratch");
}

// run(begin, end, scratch) for all of the op's tasks, in groups of its grain.
template <class Run>
Status runInGroups(const Op& op, const Invocation& invocation, int64_t scratch_bytes, Run&& run) {
  std::atomic<bool> failed{false};
  invocation.parallel.forEach(op.tasks, op.grain, [&](int64_t begin, int64_t end) {
    void* scratch = threadScratch(static_cast<size_t>(scratch_bytes));
    if (!scratch) return failed.store(true, std::memory_order_relaxed);
    run(begin, end, scratch);
  });
  return failed.load(std::memory_order_relaxed) ? noScratch(scratch_bytes) : Status();
}

template <class Run>
Status withoutExceptions(Run&& run) try {
  return run();
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to run a program");
} catch (const CheckFailure& failure) {
  return Status(Code::internal, failure.message);
} catch (const std::exception& exception) {
  return internalError("a custom call threw: ", exception.what());
}

Status inCall(const program::Step& step, const Status& status) {
  return status.ok() ? Status() : status.within(cat("custom call ", step.name));
}

// Of tasks that run at once: that of the first in the program's order counts.
class FirstError {
 public:
  void note(int64_t task, Status status) {
    if (status.ok()) return;
    std::lock_guard lock(mutex_);
    if (task < task_) error_ = std::move(status);
    task_ = std::min(task_, task);
  }
  // Once all of them have ended.
  Status status() { return std::move(error_); }

 private:
  std::mutex mutex_;
  int64_t task_ = INT64_MAX;
  Status error_;
};

// The params of a product: where earlier calls met subnormal numbers and it helps, with copies of the
// two arrays.
class ProductParams {
 public:
  ProductParams(const ProductSite& site, void* const* params, const kernels::Parallel& parallel)
      : site_(site), params_(params), parallel_(parallel) {
    if (site.history->expectsSome()) look();
  }
  void* const* get() const { return params_; }

  // The kernel, with what there was, met some. Whether it is to run again: sums that were subnormal on
  // the way are to be the same in all calls.
  bool goesAgain() {
    site_.history->noteMet();
    if (!site_.sums || looked_ || !site_.history->expectsSome()) return false;
    look();
    return copies_.sums != 1;
  }
  void finishSums() const {
    if (copies_.sums == 1) return;
    parts().scale_sums(static_cast<float*>(params_[*site_.sums]), site_.sums_count, copies_.sums,
                       parallel_);
  }

 private:
  void look() {
    looked_ = true;
    const bool helps = rescale();
    site_.history->noteLooked(helps);
    if (helps) params_ = own_.get();
  }

  bool rescale() {
    const auto [a, b] = site_.operands;
    auto array = [&](uint32_t k) { return static_cast<const float*>(params_[k]); };
    if (!own_.tryTake(site_.params)) return false;
    std::copy_n(params_, site_.params, own_.get());
    if (!parts().rescale(array(a), site_.counts[0], array(b), site_.counts[1],
                         site_.sums.has_value(), copies_, parallel_))
      return false;
    own_.get()[a] = copies_.a.get();
    own_.get()[b] = copies_.b.get();
    return true;
  }

  const ProductSite& site_;
  void* const* params_;
  const kernels::Parallel& parallel_;
  kernels::KeptMemory<void*> own_;
  kernels::Rescaled copies_;
  bool looked_ = false;
};

void copyBytes(const Invocation& invocation, const void* from, void* to, int64_t bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (source == target) return;
  bool overlaps = source < target + bytes && target < source + bytes;
  if (overlaps || bytes < 2 * kCopyTask) {
    std::memmove(target, source, static_cast<size_t>(bytes));
    return;
  }
  invocation.parallel.forEach(bytes, kCopyTask, [=](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace

void Invocation::use(ThreadPool* threads) {
  pool = threads;
  parallel = threads ? threads->parallel() : kernels::Parallel();
}

LoadedProgram::Frame::~Frame() { std::free(own_arena); }

Status LoadedProgram::bind(const Invocation& invocation, Frame& frame) const {
  void* arena = invocation.arena;
  int64_t bytes = program_->arena_bytes;
  if (!arena && bytes > 0) {
    if (!frame.own_arena) {
      frame.own_arena = std::aligned_alloc(64, static_cast<size_t>(bytes + 63) / 64 * 64);
    }
    arena = frame.own_arena;
    if (!arena) return resourceExhausted("no memory for an arena of ", bytes, " bytes");
  }
  if (arena != frame.arena) {
    for (const Patch& patch : tape_.arena_patches) {
      frame.pointers[patch.at] = static_cast<std::byte*>(arena) + patch.offset;
    }
    frame.arena = arena;
  }
  bindArguments(invocation, frame);
  return Status();
}

void LoadedProgram::bindArguments(const Invocation& invocation, Frame& frame) const {
  for (const Patch& patch : tape_.argument_patches) {
    frame.pointers[patch.at] = static_cast<std::byte*>(invocation.args[patch.index]) + patch.offset;
  }
  for (const Patch& patch : tape_.result_patches) {
    frame.pointers[patch.at] =
        static_cast<std::byte*>(invocation.results[patch.index]) + patch.offset;
  }
  for (size_t i = 0; i < program_->arguments.size(); ++i) {
    const program::Argument& argument = program_->arguments[i];
    if (argument.aliased_result < 0) continue;
    copyBytes(invocation, invocation.args[i], invocation.results[argument.aliased_result],
              argument.shape.bytes());
  }
}

Status LoadedProgram::run(const Invocation& invocation, Frame& frame) const {
  return withoutExceptions([&]() -> Status {
    TERCEL_TRY(bind(invocation, frame));
    const kernels::IsaScope scope(isa_);
    return runOps(invocation, frame.pointers.data(), 0);
  });
}

Status LoadedProgram::runOps(const Invocation& invocation, void* const* pointers,
                             uint32_t first) const {
  const int64_t scratch_bytes = tape_.scratch_bytes;
  void* scratch = threadScratch(static_cast<size_t>(scratch_bytes));
  if (!scratch) return noScratch(scratch_bytes);
  const Op* ops = tape_.ops.data();
  const uint32_t* targets = tape_.targets.data();
  for (const Op* op = ops + first;;) {
    void* const* params = pointers + op->params;
    switch (op->code) {
      case OpCode::kernel:
        op->fn(params, 0, op->tasks, scratch);
        ++op;
        break;
      case OpCode::parallel_kernel:
        TERCEL_TRY(runParallel(*op++, invocation, params));
        break;
      case OpCode::product:
        TERCEL_TRY(runProduct(*op++, invocation, params));
        break;
      case OpCode::side_by_side:
        TERCEL_TRY(runSideBySide(op, invocation, pointers));
        op += 1 + op->tasks;
        break;
      case OpCode::copy:
        copyBytes(invocation, params[0], params[1], op->tasks);
        ++op;
        break;
      case OpCode::jump:
        op = ops + op->target;
        break;
      case OpCode::jump_unless:
        op = *static_cast<const uint8_t*>(params[0]) ? op + 1 : ops + op->target;
        break;
      case OpCode::select_pred:
        op = ops + targets[op->target + (*static_cast<const uint8_t*>(params[0]) ? 0 : 1)];
        break;
      case OpCode::select_index: {
        int32_t index;
        std::memcpy(&index, params[0], sizeof(index));
        uint32_t last = static_cast<uint32_t>(op->tasks - 1);
        op = ops + targets[op->target + std::min(static_cast<uint32_t>(index), last)];
        break;
      }
      case OpCode::parallel_loop:
        TERCEL_TRY(runParallelLoop(*op, invocation, pointers));
        op = ops + tape_.parallel_loops[op->target].end;
        break;
      case OpCode::fork:
        TERCEL_TRY(runFork(*op, invocation, pointers));
        op = ops + targets[op->target + op->tasks];
        scratch = threadScratch(static_cast<size_t>(scratch_bytes));
        if (!scratch) return noScratch(scratch_bytes);
        break;
      case OpCode::sort:
        TERCEL_TRY(runSort(*op++, invocation, params));
        break;
      case OpCode::fft:
        TERCEL_TRY(tape_.ffts[op->target]->run(params[0], params[1], invocation.parallel));
        ++op;
        break;
      case OpCode::concatenate: {
        const kernels::Concatenation& shape = tape_.concatenations[op->target];
        kernels::concatenate(shape, params, params[shape.bytes.size()], invocation.parallel);
        ++op;
        break;
      }
      case OpCode::custom_call:
        TERCEL_TRY(runCustomCall(*op++, invocation, params));
        // Programs that it ran on this thread may have a larger scratch.
        scratch = threadScratch(static_cast<size_t>(scratch_bytes));
        if (!scratch) return noScratch(scratch_bytes);
        break;
      case OpCode::end:
        return Status();
    }
  }
}

Status LoadedProgram::runParallel(const Op& op, const Invocation& invocation,
                                  void* const* params) const {
  return runInGroups(op, invocation, program_->kernels[op.target].scratch_bytes,
                     [&](int64_t begin, int64_t end, void* scratch) {
                       op.fn(params, begin, end, scratch);
                     });
}

Status LoadedProgram::runProduct(const Op& op, const Invocation& invocation,
                                 void* const* params) const {
  const ProductSite& site = tape_.products[op.target];
  ProductParams own(site, params, invocation.parallel);
  std::atomic<bool> met{false};
  auto run = [&] {
    return runInGroups(op, invocation, program_->kernels[site.kernel].scratch_bytes,
                       [&](int64_t begin, int64_t end, void* scratch) {
                         SubnormalWatch watch;
                         op.fn(own.get(), begin, end, scratch);
                         if (watch.metAny()) met.store(true, std::memory_order_relaxed);
                       });
  };
  TERCEL_TRY(run());
  if (met.load(std::memory_order_relaxed) && own.goesAgain()) TERCEL_TRY(run());
  own.finishSums();
  return {};
}

Status LoadedProgram::runSideBySide(const Op* op, const Invocation& invocation,
                                    void* const* pointers) const {
  const Op* kernels = op + 1;
  return runInGroups(*op, invocation, tape_.scratch_bytes,
                     [&](int64_t begin, int64_t end, void* scratch) {
                       for (int64_t k = begin; k < end; ++k)
                         kernels[k].fn(pointers + kernels[k].params, 0, kernels[k].tasks, scratch);
                     });
}

// Each stretch on one thread, whatever it holds.
Status LoadedProgram::runFork(const Op& op, const Invocation& invocation,
                              void* const* pointers) const {
  Invocation alone = invocation;
  alone.use(nullptr);
  FirstError error;
  invocation.parallel.forEach(op.tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const uint32_t first = tape_.targets[op.target + static_cast<size_t>(k)];
      error.note(k, withoutExceptions([&] { return runOps(alone, pointers, first); }));
    }
  });
  return error.status();
}

Status LoadedProgram::runParallelLoop(const Op& op, const Invocation& invocation,
                                      void* const* pointers) const {
  Invocation alone = invocation;
  alone.use(nullptr);
  FirstError error;
  const ParallelLoopSite& site = tape_.parallel_loops[op.target];
  invocation.parallel.forEach(op.tasks, op.grain, [&](int64_t begin, int64_t end) {
    error.note(begin, withoutExceptions([&] {
      return runTurns(site, begin, end, alone, pointers);
    }));
  });
  return error.status();
}

// On this thread, in memory of its own.
Status LoadedProgram::runTurns(const ParallelLoopSite& site, int64_t begin, int64_t end,
                               const Invocation& alone, void* const* pointers) const {
  auto* scratch = static_cast<std::byte*>(threadScratch(static_cast<size_t>(tape_.scratch_bytes)));
  if (!scratch) return noScratch(tape_.scratch_bytes);
  std::byte* memory = scratch + tape_.turn_offset;
  void** own = reinterpret_cast<void**>(scratch + tape_.turn_pointers_offset) - site.first;
  std::copy_n(pointers + site.first, site.count, own + site.first);
  for (const Patch& patch : site.turn_patches) own[patch.at] = memory + patch.offset;
  for (int64_t turn = begin; turn < end; ++turn) {
    const int64_t count = site.first_count + turn * site.step;
    std::memcpy(memory + site.count_offset, &count, static_cast<size_t>(site.count_bytes));
    TERCEL_TRY(runOps(alone, own, site.body));
  }
  return Status();
}

Status LoadedProgram::runSort(const Op& op, const Invocation& invocation,
                              void* const* params) const {
  const SortSite& site = tape_.sorts[op.target];
  kernels::Sort sort = site.sort;
  sort.operands = params;
  sort.results = params + site.operands;
  if (!site.keys.empty()) return parts().key_sort(sort, site.keys, invocation.parallel);
  return parts().sort(sort, invocation.parallel);
}

Status LoadedProgram::runCustomCall(const Op& op, const Invocation& invocation,
                                    void* const* params) const {
  const CustomCallSite& site = tape_.custom_calls[op.target];
  const program::Step& step = *site.step;
  CustomCallHandler* handler = invocation.custom_calls;
  const bool is_own =
      site.own && !(handler && handler->replaces(step.name, site.is_preferred));
  const bool prints = step.name == kDebugPrint && parts().debug_print;
  if (!is_own && !handler && !prints) {
    return unimplemented("nothing here can run the custom call ", step.name);
  }
  const size_t operands = site.signature.operands.size(), results = site.signature.results.size();
  if (is_own) {
    const linalg::Call own{step.text, &site.signature, {params, operands},
                           {params + operands, results}, invocation.parallel};
    return inCall(step, site.own(own));
  }
  CustomCall call;
  call.target = step.name;
  call.configuration = step.text;
  call.site = &step;
  call.signature = &site.signature;
  call.operands = {params, operands};
  call.results = {params + operands, results};
  call.operand_bytes = std::span(site.bytes).first(operands);
  call.result_bytes = std::span(site.bytes).last(results);
  call.run = &invocation.info;
  call.pool = invocation.pool;
  call.may_block = invocation.may_block;
  if (!handler) return parts().debug_print(call);
  const Status status = handler->call(call);
  if (prints && status.code() == Code::unimplemented) return parts().debug_print(call);
  return inCall(step, status);
}

}  // namespace tercel::engine
