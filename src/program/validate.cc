#include "program/validate.h"

#include <array>
#include <limits>

#include "core/layout.h"
#include "core/sort_keys.h"
#include "program/call_signature.h"
#include "program/memory.h"
#include "program/product_slots.h"

namespace tercel::program {
namespace {

constexpr int64_t kMaxScratch = int64_t{1} << 40;

constexpr size_t kStepKinds = 0
#define STEP(name) +1
#include "program/steps.def"
    ;

Status checkShape(const Shape& shape) {
  if (static_cast<size_t>(shape.dtype) >= kDTypeCount) return invalidArgument("unknown dtype");
  if (!sizeIsRepresentable(shape.dims, byteSize(shape.dtype))) {
    return invalidArgument("impossible shape ", toString(shape));
  }
  return Status();
}

template <class Value>
Status checkValue(const Value& value) {
  TERCEL_TRY(checkShape(value.shape));
  if (value.layout.empty() || isLayout(value.layout, value.shape.dims.size())) return {};
  return invalidArgument("impossible layout ", layoutText(value.layout, value.layout.size()));
}

bool countFits(size_t count) { return count <= std::numeric_limits<int32_t>::max(); }

class Validator {
 public:
  explicit Validator(const Program& program) : program_(program) {}

  Status run() {
    TERCEL_TRY(checkSignature());
    TERCEL_TRY(checkSlots());
    TERCEL_TRY(checkKernels());
    if (program_.sequences.empty()) return invalidArgument("a program has at least one sequence");
    used_.assign(program_.sequences.size(), false);
    Status status = checkSequence(0, 0);
    return place_.empty() ? status : status.within(place_);
  }

 private:
  Status checkSignature() const {
    if (static_cast<size_t>(program_.architecture) >= kArchitectureCount) {
      return invalidArgument("unknown architecture");
    }
    const std::vector<Argument>& arguments = program_.arguments;
    const std::vector<ResultInfo>& results = program_.results;
    if (!countFits(arguments.size()) || !countFits(results.size())) {
      return invalidArgument("too many arguments or results");
    }
    for (size_t i = 0; i < results.size(); ++i) {
      TERCEL_TRY(checkValue(results[i]).within(cat("result ", i)));
    }
    std::vector<bool> aliased(results.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      TERCEL_TRY(checkValue(arguments[i]).within(cat("argument ", i)));
      int32_t k = arguments[i].aliased_result;
      if (k == -1) continue;
      if (k < 0 || static_cast<size_t>(k) >= results.size() || aliased[k] ||
          results[k].shape.bytes() != arguments[i].shape.bytes()) {
        return invalidArgument("argument ", i, " cannot share memory with result ", k);
      }
      aliased[k] = true;
    }
    return Status();
  }

  // Bytes of the memory that a slot lies in; -1 where there is none.
  int64_t placeBytes(const Slot& slot) const {
    switch (slot.place) {
      case Place::argument:
        if (slot.index >= program_.arguments.size()) return -1;
        return program_.arguments[slot.index].shape.bytes();
      case Place::result:
        if (slot.index >= program_.results.size()) return -1;
        return program_.results[slot.index].shape.bytes();
      case Place::arena:
        return program_.arena_bytes;
      case Place::constant:
        return static_cast<int64_t>(program_.constants.size());
      case Place::turn:
        return program_.turn_bytes;
      case Place::shared:
        return program_.shared_bytes;
    }
    return -1;
  }

  Status checkSlots() const {
    if (program_.shared_bytes < 0) return invalidArgument("negative shared_bytes");
    if (program_.arena_bytes < 0) return invalidArgument("negative arena_bytes");
    if (program_.turn_bytes < 0 || program_.turn_bytes > kMaxScratch)
      return invalidArgument("impossible turn_bytes");
    if (!countFits(program_.slots.size())) return invalidArgument("too many slots");
    for (size_t i = 0; i < program_.slots.size(); ++i) {
      const Slot& slot = program_.slots[i];
      int64_t size = placeBytes(slot);
      if (size < 0 || slot.offset < 0 || slot.bytes < 0 || slot.offset > size ||
          slot.bytes > size - slot.offset) {
        return invalidArgument("slot ", i, " does not lie in its memory");
      }
    }
    return Status();
  }

  Status checkKernels() const {
    for (size_t i = 0; i < program_.kernels.size(); ++i) {
      const Kernel& kernel = program_.kernels[i];
      if (kernel.symbol.empty() || kernel.scratch_bytes < 0 || kernel.scratch_bytes > kMaxScratch) {
        return invalidArgument("kernel ", i, " has no symbol or an impossible scratch size");
      }
      if (kernel.object >= program_.objects.size() && !program_.objects.empty()) {
        return invalidArgument("kernel ", kernel.symbol, " is in object ", kernel.object, " of ",
                               program_.objects.size());
      }
    }
    return Status();
  }

  Status checkSequence(uint32_t id, int depth) {
    if (id >= program_.sequences.size()) return invalidArgument("there is no sequence ", id);
    if (used_[id]) return invalidArgument("sequence ", id, " is used twice");
    if (depth > kMaxSequenceDepth) return invalidArgument("sequences are nested too deeply");
    used_[id] = true;
    const Sequence& sequence = program_.sequences[id];
    for (size_t i = 0; i < sequence.size(); ++i) {
      Status status = checkStep(sequence[i], depth);
      if (status.ok()) continue;
      if (place_.empty()) place_ = cat("sequence ", id, ", step ", i, " (", sequence[i].name, ")");
      return status;
    }
    return Status();
  }

  Status checkStep(const Step& step, int depth) {
    if (static_cast<size_t>(step.kind) >= kStepKinds) return invalidArgument("unknown step kind");
    if (!countFits(step.slots.size())) return invalidArgument("too many slots in a step");
    for (uint32_t slot : step.slots) {
      if (slot >= program_.slots.size()) return invalidArgument("there is no slot ", slot);
      if (program_.slots[slot].place == Place::turn && !in_turn_ &&
          step.kind != StepKind::parallel_loop)
        return invalidArgument("uses the memory of a turn outside of a parallel_loop");
    }
    switch (step.kind) {
      case StepKind::kernel:
        return checkKernelStep(step);
      case StepKind::copy:
        return checkCopy(step);
      case StepKind::while_loop:
        return checkWhile(step, depth);
      case StepKind::branch:
        return checkBranch(step, depth);
      case StepKind::fork:
        return checkFork(step, depth);
      case StepKind::sort:
        return checkSort(step);
      case StepKind::custom_call:
        return checkCustomCall(step);
      case StepKind::fft:
        return checkFft(step);
      case StepKind::concatenate:
        return checkConcatenate(step);
      case StepKind::parallel_loop:
        return checkParallelLoop(step, depth);
    }
    return Status();
  }

  const Slot& slot(const Step& step, size_t i) const { return program_.slots[step.slots[i]]; }

  Status checkWritable(const Slot& slot) const {
    bool read_only =
        slot.place == Place::constant || slot.place == Place::shared ||
        (slot.place == Place::argument && program_.arguments[slot.index].aliased_result < 0);
    return read_only ? invalidArgument("writes a constant or an argument") : Status();
  }

  Status checkCode(const Step& step) const {
    if (step.target >= program_.kernels.size()) {
      return invalidArgument("there is no kernel ", step.target);
    }
    return step.tasks < 0 || step.grain < 1 ? invalidArgument("impossible tasks or grain")
                                            : Status();
  }

  Status checkKernelStep(const Step& step) const {
    for (int64_t written : step.values) {
      if (written < 0 || written >= static_cast<int64_t>(step.slots.size())) {
        return invalidArgument("writes slot ", written, " of ", step.slots.size());
      }
      TERCEL_TRY(checkWritable(slot(step, static_cast<size_t>(written))));
    }
    TERCEL_TRY(productSlots(step).status());
    return checkCode(step);
  }

  Status checkCopy(const Step& step) const {
    if (step.slots.size() != 2) return invalidArgument("copy takes two slots");
    if (slot(step, 0).bytes < slot(step, 1).bytes) {
      return invalidArgument("copies more bytes than there are");
    }
    return checkWritable(slot(step, 1));
  }

  Status checkWhile(const Step& step, int depth) {
    if (step.slots.size() != 1 || step.sequences.size() != 1 || slot(step, 0).bytes < 1) {
      return invalidArgument("while_loop takes one pred slot and one body");
    }
    TERCEL_TRY(checkSequence(step.target, depth + 1));
    return checkSequence(step.sequences[0], depth + 1);
  }

  Status checkParallelLoop(const Step& step, int depth) {
    if (in_turn_) return invalidArgument("parallel_loop inside of a parallel_loop");
    if (step.slots.size() != 1 || step.sequences.size() != 1 || step.values.size() != 3)
      return invalidArgument("parallel_loop takes one count, one body and three values");
    const int64_t bytes = step.values[2];
    if (slot(step, 0).place != Place::turn || (bytes != 4 && bytes != 8) ||
        slot(step, 0).bytes < bytes)
      return invalidArgument("parallel_loop takes a count of 4 or 8 bytes");
    if (step.tasks < 0 || step.grain < 1) return invalidArgument("impossible tasks or grain");
    in_turn_ = true;
    Status status = checkSequence(step.sequences[0], depth + 1);
    in_turn_ = false;
    return status;
  }

  Status checkBranch(const Step& step, int depth) {
    if (step.slots.size() != 1 || step.values.size() != 1 ||
        (step.values[0] != 1 && step.values[0] != 4) || slot(step, 0).bytes < step.values[0]) {
      return invalidArgument("branch takes one selector of 1 or 4 bytes");
    }
    size_t count = step.sequences.size();
    if (count == 0 || (step.values[0] == 1 && count != 2)) {
      return invalidArgument("branch has ", count, " sequences");
    }
    for (uint32_t id : step.sequences) TERCEL_TRY(checkSequence(id, depth + 1));
    return Status();
  }

  Status checkFork(const Step& step, int depth) {
    if (!step.slots.empty()) return invalidArgument("fork takes no slots");
    for (uint32_t id : step.sequences) TERCEL_TRY(checkSequence(id, depth + 1));
    return Status();
  }

  Status checkSort(const Step& step) const {
    size_t operands = step.slots.size() / 2;
    if (operands == 0 || step.slots.size() != 2 * operands || step.values.size() != 4 + operands) {
      return invalidArgument("sort takes as many results as operands, and an element size of each");
    }
    TERCEL_TRY(checkCode(step));
    TERCEL_TRY(checkSortKeys(step, operands));
    for (size_t i = 0; i < operands; ++i) {
      int64_t element = step.values[4 + i];
      std::array<int64_t, 3> dims{step.values[0], step.values[1], step.values[2]};
      if (element < 1 || element > 16 || (element & (element - 1)) != 0 ||
          !sizeIsRepresentable(dims, static_cast<size_t>(element))) {
        return invalidArgument("impossible sort dimensions");
      }
      int64_t bytes = elementCount(dims) * element;
      if (slot(step, i).bytes < bytes || slot(step, operands + i).bytes < bytes) {
        return invalidArgument("a sort operand is smaller than its dimensions");
      }
      TERCEL_TRY(checkWritable(slot(step, operands + i)));
      for (size_t j = 0; j < operands; ++j) {
        if (!overlap(slot(step, operands + i), slot(step, j))) continue;
        if (slot(step, operands + i).offset != slot(step, j).offset ||
            element != step.values[4 + j]) {
          return invalidArgument("a sort result overlaps an operand in part");
        }
      }
    }
    if (step.values[3] < 0 || step.values[3] > step.values[1])
      return invalidArgument("impossible number of sorted elements");
    return Status();
  }

  static Status checkSortKeys(const Step& step, size_t operands) {
    if (step.text.empty()) return Status();
    auto keys = parseSortKeys(step.text);
    bool fits = keys && keys->size() <= operands;
    for (size_t i = 0; fits && i < keys->size(); ++i) {
      fits = static_cast<int64_t>(byteSize((*keys)[i].dtype)) == step.values[4 + i];
    }
    return fits ? Status() : invalidArgument("impossible sort keys '", step.text, "'");
  }

  // The slot with an aliased argument's memory named as the result's.
  bool overlap(const Slot& a_slot, const Slot& b_slot) const {
    Slot a = memoryOf(program_, a_slot), b = memoryOf(program_, b_slot);
    if (a.place != b.place || a.index != b.index) return false;
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }

  Status checkConcatenate(const Step& step) const {
    if (step.slots.size() < 2 || step.values.size() != step.slots.size())
      return invalidArgument("concatenate takes operands and a result, and a row's bytes of each");
    const Slot& result = slot(step, step.slots.size() - 1);
    int64_t row = 0;
    for (size_t i = 0; i + 1 < step.slots.size(); ++i) {
      const int64_t bytes = step.values[i + 1];
      if (bytes < 0 || !sizeIsRepresentable(std::array{step.values[0], bytes}, 1) ||
          slot(step, i).bytes < step.values[0] * bytes)
        return invalidArgument("an operand of concatenate is smaller than its rows");
      if (overlap(slot(step, i), result))
        return invalidArgument("the result of concatenate overlaps an operand");
      if (bytes > result.bytes - row) return invalidArgument("a row longer than concatenate's result");
      row += bytes;
    }
    if (!sizeIsRepresentable(std::array{step.values[0], row}, 1) ||
        result.bytes < step.values[0] * row)
      return invalidArgument("the result of concatenate is smaller than its rows");
    return checkWritable(result);
  }

  Status checkFft(const Step& step) const {
    const bool shaped = step.slots.size() == 2 && step.values.size() >= 4 &&
                        step.values.size() <= 6 && step.values[0] >= 0 && step.values[0] <= 3 &&
                        (step.values[1] == 4 || step.values[1] == 8);
    if (!shaped) return invalidArgument("impossible fft");
    const bool to_real = step.values[0] == 3, from_real = step.values[0] == 2;
    Dims full(step.values.begin() + 2, step.values.end()), half = full;
    half.back() = half.back() / 2 + 1;
    for (int64_t d : full)
      if (d < 1) return invalidArgument("an fft of nothing");
    const auto part = static_cast<size_t>(step.values[1]);
    if (!sizeIsRepresentable(full, 2 * part) || !sizeIsRepresentable(half, 2 * part))
      return invalidArgument("impossible fft dimensions");
    auto bytes = [&](bool real, bool halved) {
      return elementCount(halved ? half : full) * static_cast<int64_t>(part) * (real ? 1 : 2);
    };
    if (slot(step, 0).bytes < bytes(from_real, to_real) ||
        slot(step, 1).bytes < bytes(to_real, from_real))
      return invalidArgument("an fft's operand is smaller than its dimensions");
    if (overlap(slot(step, 0), slot(step, 1)))
      return invalidArgument("an fft's result overlaps its operand");
    return checkWritable(slot(step, 1));
  }

  Status checkCustomCall(const Step& step) const {
    if (in_turn_) return invalidArgument("custom_call inside of a parallel_loop");
    TERCEL_ASSIGN(const CallSignature signature, decodeCallSignature(step.values));
    const size_t operands = signature.operands.size();
    if (step.slots.size() != operands + signature.results.size()) {
      return invalidArgument("custom_call of ", toString(signature), " with ", step.slots.size(),
                             " slots");
    }
    for (size_t i = 0; i < step.slots.size(); ++i) {
      const bool is_result = i >= operands;
      const CallValue& value =
          is_result ? signature.results[i - operands] : signature.operands[i];
      if (is_result && value.bytes() > 0) TERCEL_TRY(checkWritable(slot(step, i)));
      if (slot(step, i).bytes < value.bytes()) {
        return invalidArgument("a value of a custom_call is larger than its slot");
      }
    }
    return Status();
  }

  const Program& program_;
  std::vector<bool> used_;
  bool in_turn_ = false;  // of a parallel_loop
  std::string place_;  // of the first error, innermost
};

}  // namespace

Status validate(const Program& program) { return Validator(program).run(); }

}  // namespace tercel::program
