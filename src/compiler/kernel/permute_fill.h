// The turning of one block of a permutation, into scratch memory or straight to the output.
#pragma once
#include <optional>

#include "compiler/kernel/permute_plan.h"
#include "compiler/kernel/thin_lines.h"
#include "compiler/kernel/transpose_block.h"

namespace tercel::kernel {

class PermuteFill {
 public:
  // `turned`: the access of `loops` that reads `source`, which lies in memory as `held`.
  PermuteFill(Lowering& low, IndexSpace& space, const PermutePlan& plan, const LoopPlan& loops,
              size_t turned, ir::Value source, Scalar held)
      : low_(low), b_(low.builder), space_(space), plan_(plan), loops_(loops), turned_(turned),
        source_(source), held_(held) {}

  // So many elements from one place of the input's side to the next. Without scratch memory, what
  // is turned goes straight to the output.
  void useScratch(BufferId scratch, int64_t pitch) {
    scratch_ = scratch;
    pitch_ = pitch;
  }
  // Lines that a step may turn: more than a square has where these fill vectors side by side.
  int64_t mostLines() const;
  int64_t outerStep() const;  // places of `outer` that are turned at a time
  // Where the block begins in the input, and whither it goes.
  void emit(const Side& in_side, const Side& out_side, const Range& in, const Range& out, V first,
            V to);

 private:
  const std::vector<int64_t>& loads() const { return loops_.strides[turned_]; }
  const std::vector<int64_t>& stores() const { return loops_.strides.back(); }
  int64_t extent(size_t group) const { return loops_.groupExtent(group); }
  int vectorBytes() const { return low_.machine.vector_bytes; }
  int64_t lineAt(int64_t place) const;
  V load(V place, int64_t offset, int64_t words);
  V loadLanes(V place, int64_t offset, int64_t count, const Guard& guard = {});
  V loadFirst(V from, int64_t offset, int64_t count, int64_t lanes);
  V loadFew(V from, int64_t offset);
  Words inVectors() const;
  void put(V to, int64_t offset, V vector, int64_t count);
  void joinLines(V at, V first, V to);
  void partLines(V at, V first, V to);
  void moveWithin(V at, V first, V to);
  void turnTiles(V from, V to);
  V sideBySide(V from, int64_t first, int64_t lines, int64_t all);
  void copyWords(V from, V to);
  void copyWord(V from, int64_t place, V to, int64_t put);

  Lowering& low_;
  Builder& b_;
  IndexSpace& space_;
  const PermutePlan& plan_;
  const LoopPlan& loops_;
  size_t turned_;
  ir::Value source_;
  Scalar held_;
  std::optional<BufferId> scratch_;
  int64_t pitch_ = 1;
};

}  // namespace tercel::kernel
