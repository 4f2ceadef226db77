// A Program's steps as one flat list of operations with jumps: what runs, without vectors, names or
// virtual calls in its way.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/sort_keys.h"
#include "program/call_signature.h"
#include "program/program.h"
#include "runtime/engine/runner.h"
#include "runtime/engine/subnormal_history.h"
#include "runtime/kernels/concatenate.h"
#include "runtime/kernels/fft.h"
#include "runtime/kernels/sort.h"
#include "runtime/linalg/functions.h"

namespace tercel::engine {

using KernelFn = void (*)(void* const* params, int64_t begin, int64_t end, void* scratch);

enum class OpCode : uint8_t {
  kernel,           // fn(params, 0, tasks, scratch) on the calling thread
  parallel_kernel,  // in groups of `grain` tasks
  product,          // the same of products[target], one way or another
  side_by_side,     // the `tasks` kernel ops that follow, in any order, in groups of `grain` of them
  copy,             // tasks bytes from params[0] to params[1]
  jump,             // to target
  jump_unless,      // to target where the pred at params[0] is false
  select_pred,      // to targets[target + (pred at params[0] ? 0 : 1)]
  select_index,     // to targets[target + index at params[0]], the last of `tasks` if out of range
  parallel_loop,    // parallel_loops[target], tasks turns in groups of `grain`
  fork,             // each of the `tasks` stretches of ops that start at targets[target...] and
                    // come to an end; then on to targets[target + tasks]
  sort,             // sorts[target]
  fft,              // ffts[target] from params[0] to params[1]
  concatenate,      // concatenations[target]: params = operands..., result
  custom_call,      // custom_calls[target]
  end,              // of the program, or of a stretch of a fork
};

struct Op {
  OpCode code = OpCode::end;
  uint32_t params = 0;  // first in the frame's pointer table
  uint32_t target = 0;
  KernelFn fn = nullptr;
  int64_t tasks = 0;
  int64_t grain = 1;
};

// An entry of the frame's pointer table, to be set to a base pointer + offset.
struct Patch {
  uint32_t at;
  uint32_t index;  // of the argument or result
  int64_t offset;
};

struct CustomCallSite {
  const program::Step* step;
  program::CallSignature signature;
  std::vector<int64_t> bytes;  // of operands, then results
  linalg::Function own = nullptr;  // the engine's, where there is one
  bool is_preferred = false;
};

// Of each thread's own copy of the pointers [first, first + count), those at turn_patches are of its
// own memory.
struct ParallelLoopSite {
  uint32_t body = 0, end = 0;  // the first op of a turn, and the one after the last
  uint32_t first = 0, count = 0;
  std::vector<Patch> turn_patches;
  int64_t count_offset = 0, count_bytes = 0;  // in that memory
  int64_t first_count = 0, step = 1;
};

// A kernel that multiplies two arrays of f32.
struct ProductSite {
  uint32_t kernel = 0, params = 0;
  std::array<uint32_t, 2> operands;  // of the params
  std::array<int64_t, 2> counts;     // of their elements
  std::optional<uint32_t> sums;      // the param of nothing but sums of products
  int64_t sums_count = 0;
  std::unique_ptr<SubnormalHistory> history;
};

struct SortSite {
  kernels::Sort sort;         // without its pointers
  std::vector<SortKey> keys;  // empty: only the comparator knows
  uint32_t operands;
};

struct Tape {
  std::vector<Op> ops;
  std::vector<uint32_t> targets;
  std::vector<ProductSite> products;
  std::vector<SortSite> sorts;
  std::vector<ParallelLoopSite> parallel_loops;
  std::vector<CustomCallSite> custom_calls;
  std::vector<std::unique_ptr<const kernels::Fft>> ffts;
  std::vector<kernels::Concatenation> concatenations;
  uint32_t pointers = 0;  // length of the frame's pointer table
  std::vector<Patch> argument_patches, result_patches, arena_patches;
  std::vector<Patch> constant_patches;  // index: 0 of the program's own, 1 of those that are shared
  // For each thread: of the hungriest kernel, of turns, and for their pointers.
  int64_t scratch_bytes = 0, turn_offset = 0, turn_pointers_offset = 0;
};

// `program` must be valid and outlive the tape. `kernels` has the function of every kernel.
Tape makeTape(const program::Program& program, const std::vector<KernelFn>& kernels);

}  // namespace tercel::engine
