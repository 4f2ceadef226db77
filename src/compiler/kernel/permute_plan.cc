#include "compiler/kernel/permute_plan.h"

#include <algorithm>

#include "compiler/kernel/thin_lines.h"

namespace tercel::kernel {
namespace {

constexpr int64_t kThin = 16;             // words of a short side, at most
constexpr int64_t kLongLineBytes = 256;  // bytes of a line that is no longer short
constexpr int64_t kLongRow = 4096;       // bytes of a row in the output that is
constexpr int64_t kFewWords = 8;         // written out
constexpr int64_t kFewBytes = 256;       // of a plane, not worth a task

class Planner {
 public:
  Planner(const LoopPlan& loops, const std::vector<int64_t>& loads,
          const std::vector<int64_t>& stores, int64_t element_bytes, int64_t vector_bytes,
          int64_t widest_word)
      : loops_(loops), bytes_(element_bytes), vector_bytes_(vector_bytes),
        widest_word_(widest_word) {
    for (size_t g = 0; g < loads.size(); ++g) outs_.push_back(g);
    ins_ = outs_;
    auto by = [](const std::vector<int64_t>& strides) {
      return [&strides](size_t a, size_t b) { return strides[a] < strides[b]; };
    };
    std::ranges::sort(outs_, by(stores));
    std::ranges::sort(ins_, by(loads));
  }

  std::optional<PermutePlan> plan() {
    if (outs_.size() > 1 && outs_[0] == ins_[0]) {
      plan_.word = extent(outs_[0]);
      outs_.erase(outs_.begin());
      ins_.erase(ins_.begin());
    }
    if (outs_.size() < 2 || outs_[0] == ins_[0]) return {};
    bytes_ *= plan_.word;
    if (chooseWithin()) return plan_;
    const bool is_word = bytes_ > 8 || (bytes_ & (bytes_ - 1));
    if (is_word && bytes_ > widest_word_) return {};
    const bool is_packed = !is_word && endsWithinLines();
    if (!is_word && !is_packed && plan_.word == 1 && !isThin(outs_[0]) && !isThin(ins_[0]))
      return {};
    plan_.ins = {ins_[0]};
    if (is_word)
      chooseWords();
    else if (is_packed)
      choosePacked();
    else if (!chooseLines())
      chooseTiles();
    const int64_t plane = plan_.in_size * plan_.inner_size * plan_.outer_size * bytes_;
    if (plane < kFewBytes) return {};
    return plan_;
  }

 private:
  int64_t extent(size_t group) const { return loops_.groupExtent(group); }
  int64_t inVector() const { return vector_bytes_ / bytes_; }
  bool isThin(size_t group) const { return extent(group) <= std::min(kThin, inVector()); }
  // Of rows in the output that follow each other, and are shorter than what is worth whole lines.
  bool endsWithinLines() const {
    const int64_t row = extent(outs_[0]) * bytes_;
    return outs_[1] == ins_[0] && row < kLongRow && row % kLineBytes && !isThin(outs_[0]) &&
           !isThin(ins_[0]);
  }
  int64_t square() const {
    return std::min(vector_bytes_ / std::max<int64_t>(2, bytes_), kThin);
  }
  bool isTaken(size_t group) const {
    auto has = [&](const std::vector<size_t>& list) {
      return std::ranges::find(list, group) != list.end();
    };
    return has(plan_.ins) || has(plan_.inner) || plan_.outer == group;
  }

  void setInner(size_t count) {
    plan_.inner.assign(outs_.begin(), outs_.begin() + static_cast<int64_t>(count));
    plan_.inner_size = 1;
    for (size_t g : plan_.inner) plan_.inner_size *= extent(g);
  }

  void extendIns(int64_t least) {
    plan_.in_size = extent(plan_.ins[0]);
    for (size_t k = 1; k < ins_.size() && plan_.in_size < least && !isTaken(ins_[k]); ++k) {
      plan_.ins.push_back(ins_[k]);
      plan_.in_size *= extent(ins_[k]);
    }
  }

  // The output goes on along the input's side.
  void pack() {
    plan_.is_packed = true;
    const size_t first = plan_.inner.size() + (plan_.outer ? 1 : 0);
    for (size_t k = 0; k < plan_.ins.size() && first + k < outs_.size(); ++k) {
      if (outs_[first + k] != plan_.ins[k]) break;
      plan_.run *= extent(plan_.ins[k]);
    }
  }

  void setOuter(size_t group) {
    plan_.outer = group;
    plan_.outer_size = extent(group);
  }

  // Dimensions that are the inner ones on both sides, and together a few vectors.
  bool chooseWithin() {
    const int64_t most = (vector_bytes_ == 64 ? 6 : 2) * vector_bytes_;
    int64_t size = bytes_;
    for (size_t k = 0; k + 1 < outs_.size(); ++k) {
      size *= extent(outs_[k]);
      if (size > most) return false;
      if (outs_[k + 1] != ins_[k + 1] || !isSameSet(k + 1)) continue;
      int64_t rows = size <= vector_bytes_ ? 2 * vector_bytes_ / size : 1;
      if (vector_bytes_ % size == 0) rows /= 2;
      const int64_t all = extent(outs_[k + 1]);
      if (all < rows || size * all < kFewBytes) return false;
      plan_.way = PermutePlan::Way::within;
      plan_.words = rows;
      plan_.ins = {outs_[k + 1]};
      plan_.in_size = all;
      setInner(k + 1);
      pack();
      return true;
    }
    return false;
  }

  bool isSameSet(size_t count) const {
    return std::is_permutation(outs_.begin(), outs_.begin() + static_cast<int64_t>(count),
                               ins_.begin());
  }

  void chooseWords() {
    plan_.way = PermutePlan::Way::words;
    const bool follows = outs_[1] == ins_[0] && extent(outs_[0]) * bytes_ < kLongRow;
    if (follows && extent(outs_[0]) <= kFewWords)
      setInner(1);
    else
      setOuter(outs_[0]);
    extendIns(follows ? kLongLineBytes / bytes_ : 4);
    if (follows) pack();
    plan_.words = std::min<int64_t>(4, plan_.in_size);
  }

  bool chooseLines() {
    if (isThin(outs_[0]) && outs_[1] == ins_[0]) {
      setInner(1);
      extendIns(kLongLineBytes / bytes_);
      plan_.words = std::min(inVector(), powerFrom(plan_.in_size + 1) / 2);
      if (plan_.words >= powerFrom(plan_.inner_size)) {
        plan_.way = PermutePlan::Way::join;
        pack();
        return true;
      }
      setInner(0);
      plan_.ins.resize(1);
    }
    plan_.words = std::min(inVector(), powerFrom(extent(outs_[0]) + 1) / 2);
    if (!isThin(ins_[0]) || ins_[1] != outs_[0] || plan_.words < powerFrom(extent(ins_[0])))
      return false;
    plan_.way = PermutePlan::Way::part;
    plan_.in_size = extent(ins_[0]);
    setOuter(outs_[0]);
    return true;
  }

  void choosePacked() {
    plan_.words = square();
    setOuter(outs_[0]);
    extendIns(plan_.words);
    pack();
  }

  void chooseTiles() {
    plan_.way = PermutePlan::Way::tiles;
    int64_t size = 1;
    size_t count = 0;
    for (; count < outs_.size() && !isTaken(outs_[count]); ++count) {
      if (size * extent(outs_[count]) > kThin) break;
      size *= extent(outs_[count]);
    }
    setInner(count);
    const bool ends = count == outs_.size() || isTaken(outs_[count]);
    if (!ends) setOuter(outs_[count]);
    plan_.words = square();
    extendIns(plan_.words);
    if (ends) pack();
    const int64_t across = plan_.inner_size * plan_.outer_size;
    while (plan_.words / 2 >= std::min(across, plan_.in_size)) plan_.words /= 2;
  }

  const LoopPlan& loops_;
  int64_t bytes_, vector_bytes_;  // of an element, later of a word
  int64_t widest_word_;
  std::vector<size_t> outs_, ins_;
  PermutePlan plan_;
};

}  // namespace

std::optional<PermutePlan> planPermutation(const LoopPlan& loops, const std::vector<int64_t>& loads,
                                           const std::vector<int64_t>& stores,
                                           int64_t element_bytes, int64_t vector_bytes,
                                           int64_t widest_word) {
  return Planner(loops, loads, stores, element_bytes, vector_bytes, widest_word).plan();
}

}  // namespace tercel::kernel
