#include "runtime/engine/stretches.h"

#include <algorithm>
#include <map>
#include <utility>

#include "program/memory.h"

namespace tercel::engine {
namespace {

using program::Place;
using program::Program;
using program::Slot;
using program::Step;

constexpr double kGroupCost = 10e3;  // ns: about twice what it costs to give a group to a thread

// Disjoint pieces of one memory, by their ends.
class Pieces {
 public:
  bool overlaps(int64_t begin, int64_t end) const {
    auto at = begin_of_.upper_bound(begin);
    return at != begin_of_.end() && at->second < end;
  }
  void add(int64_t begin, int64_t end) {
    auto at = begin_of_.lower_bound(begin);
    while (at != begin_of_.end() && at->second <= end) {
      begin = std::min(begin, at->second);
      end = std::max(end, at->first);
      at = begin_of_.erase(at);
    }
    begin_of_[end] = begin;
  }

 private:
  std::map<int64_t, int64_t> begin_of_;
};

// What the steps of a stretch read and write.
class Touched {
 public:
  explicit Touched(const Program& program) : program_(program) {}

  // Whether the step reads what they write, or writes what they touch.
  bool meets(const Step& step) const {
    for (size_t i = 0; i < step.slots.size(); ++i) {
      Slot slot = slotOf(step, i);
      if (overlaps(written_, slot) || (isWritten(step, i) && overlaps(read_, slot))) return true;
    }
    return false;
  }

  void add(const Step& step) {
    for (size_t i = 0; i < step.slots.size(); ++i) {
      Slot slot = slotOf(step, i);
      auto& pieces = isWritten(step, i) ? written_ : read_;
      if (slot.bytes > 0)
        pieces[{slot.place, slot.index}].add(slot.offset, slot.offset + slot.bytes);
    }
  }

 private:
  using ByMemory = std::map<std::pair<Place, uint32_t>, Pieces>;

  static bool isWritten(const Step& step, size_t i) {
    return std::ranges::find(step.values, static_cast<int64_t>(i)) != step.values.end();
  }

  Slot slotOf(const Step& step, size_t i) const {
    return program::memoryOf(program_, program_.slots[step.slots[i]]);
  }

  static bool overlaps(const ByMemory& touched, const Slot& slot) {
    auto at = touched.find({slot.place, slot.index});
    return at != touched.end() && at->second.overlaps(slot.offset, slot.offset + slot.bytes);
  }

  const Program& program_;
  ByMemory read_, written_;
};

}  // namespace

bool isSerialKernel(const Step& step) {
  return step.kind == program::StepKind::kernel && step.grain >= step.tasks;
}

std::vector<Stretch> findStretches(const Program& program, const program::Sequence& sequence) {
  std::vector<Stretch> stretches;
  for (size_t begin = 0; begin < sequence.size();) {
    Touched touched(program);
    double cost = 0;
    size_t end = begin;
    for (; end < sequence.size(); ++end) {
      const Step& step = sequence[end];
      // A kernel that does not say what it writes may write anything.
      bool known = isSerialKernel(step) && step.tasks > 0 && !step.values.empty();
      if (!known || touched.meets(step)) break;
      touched.add(step);
      cost += step.cost;
    }
    double steps = static_cast<double>(end - begin);
    if (steps >= 2 && cost >= 2 * kGroupCost)
      stretches.push_back({begin, end, static_cast<int64_t>(steps * kGroupCost / cost) + 1});
    begin = std::max(end, begin + 1);
  }
  return stretches;
}

}  // namespace tercel::engine
