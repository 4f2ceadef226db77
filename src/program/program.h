// A Program: all that the engine needs to run what the compiler made. It is plain data, and the one
// file format (format.h) stores it as it is: for PJRT serialisation, the on-disk cache and
// deployment alike.
//
// Running: the engine takes one pointer for each argument and result, allocates the arena, resolves
// every slot to an address, and runs the steps of sequence 0 in order.
//
// An argument with an aliased_result always shares that result's memory while the program runs: the
// engine copies it there first where the caller passed two different pointers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/architecture.h"
#include "core/shape.h"
#include "program/aligned_bytes.h"

namespace tercel::program {

// `shape` is what callers see; the steps see what lies in memory. A layout is core/layout.h's.
struct Argument {
  Shape shape;
  bool is_token = false;
  int32_t aliased_result = -1;  // shares memory with this result; one argument a result at most
  bool may_donate = false;      // jax.buffer_donor: consumed, even where no result takes its memory
  std::string memory_kind;
  Dims layout;
};

struct ResultInfo {
  Shape shape;
  bool is_token = false;
  std::string memory_kind;
  Dims layout;
};

// Where a value lives while the program runs. turn: what each thread that runs turns of a
// parallel_loop has for itself; only steps inside of one use it. shared: the constants that an
// artifact has once for all of its programs.
enum class Place : uint8_t { argument, result, arena, constant, turn, shared };
struct Slot {
  Place place = Place::arena;
  uint32_t index = 0;  // of the argument or result
  int64_t offset = 0;  // bytes, from the start of that memory
  int64_t bytes = 0;
};

struct Kernel {
  std::string symbol;
  uint32_t object = 0;        // in objects
  int64_t scratch_bytes = 0;  // for each concurrent call
};

enum class StepKind : uint8_t {
#define STEP(name) name,
#include "program/steps.def"
};

// kernel       target = kernel, slots = its params; tasks in all; a chunk is `grain` tasks or more;
//              grain >= tasks runs on the calling thread. cost: nanoseconds for all tasks.
//              values = which of the slots it writes, counted from 0; empty if unknown. text = what
//              product_slots.h says of a product, or empty
// copy         slots = from, to; to's bytes are moved
// while_loop   slots = the predicate (pred[]); target = sequence of the condition, which sets the
//              predicate; sequences = {body}
// parallel_loop
//              sequences = {body}; tasks = turns, given out `grain` at a time; slots = the count
//              (Place::turn); values = {first, step, bytes of the count: 4 or 8}. The engine sets
//              the count to first + turn * step before each turn. Turns run in any order or at
//              once: none touches what another writes. No custom_call and no other parallel_loop
//              inside
// branch       slots = the selector; sequences = the branches. A pred selector takes sequences[0]
//              where true, [1] where false; an s32 one its index, the last one when out of range.
//              values = {1} for pred, {4} for s32
// fork         sequences = what may run in any order and at once: none touches what another writes
// sort         slots = operands..., results...; target = comparator kernel, whose params are the
//              operands' rows and which compares elements `begin` and `end`: 1 in scratch[0] where
//              the first goes before the second; values = {outer, length, inner, kept, size of an
//              element of each operand...}; dims are [outer, length, inner], of which the first
//              `kept` along length are read from the results. A result is an
//              operand's memory of the same element size or shares none with them. text = what the
//              comparator is known to compare, as core/sort_keys.h says, or empty
// fft          slots = operand, result; values = {FftKind, bytes of a part, batch, lengths...}, as
//              kernels/fft.h has them; the two share no memory
// concatenate  slots = operands..., result; values = {rows, bytes of a row of each operand...}; the
//              result shares no memory with operands
// custom_call  name = target; slots = operands..., results...; values = call_signature.h's; a result
//              is an operand's memory or shares none with them; text = its configuration: an opaque
//              string, or for api_version 4 a dictionary as {uplo = 76 : u8, deep = {x = "y"}}
struct Step {
  StepKind kind = StepKind::kernel;
  uint32_t target = 0;
  std::vector<uint32_t> slots;
  std::vector<uint32_t> sequences;
  std::vector<int64_t> values;
  int64_t tasks = 1;
  int64_t grain = 1;
  double cost = 0;
  std::string name;  // of the JAX op it came from, for messages and profiles
  std::string text;
};

// A sequence is used in one place only: [0] by the program, any other by one step.
using Sequence = std::vector<Step>;

struct Program {
  std::string name;
  Architecture architecture = kHostArchitecture;  // of the object code, checked on load with
  std::string target_cpu;                         // its CPU's features
  std::string target_features;
  std::vector<Argument> arguments;
  std::vector<ResultInfo> results;
  std::vector<Slot> slots;
  std::vector<Kernel> kernels;
  std::vector<Sequence> sequences;  // [0] is the program
  std::vector<std::vector<std::byte>> objects;  // relocatable object code
  AlignedBytes constants;  // slots' offsets into it are 64-byte aligned
  int64_t shared_bytes = 0;  // of Place::shared that there must be
  int64_t arena_bytes = 0;
  int64_t turn_bytes = 0;  // of Place::turn
  double cost = 0;   // estimated nanoseconds on one core
  double flops = 0;  // estimated floating-point operations
  double bytes_accessed = 0;
};

}  // namespace tercel::program
