// Makes the part of a loop's values that belongs to a slice of the batch.
#pragma once
#include <map>
#include <utility>

#include "compiler/ir/builder.h"
#include "compiler/plan/loop_cuts.h"

namespace tercel::plan {

// `rows` rows at a time, from the row that `first` counts, a value of `outside`. What does not
// change with the loop's turns is made there, the rest in `inside`.
class SliceMaker {
 public:
  SliceMaker(ir::Builder& outside, ir::Builder& inside, const ir::Region& body, ir::Value first,
             int64_t rows);

  void bind(ir::Value v, ir::Cut cut, ir::Value made) { made_[{v.index, cut}] = made; }
  ir::Value make(ir::Value v, ir::Cut cut);
  // All of these ops, into the inner loop: nothing of them is cut.
  void copyAll(const ir::Region& region, ir::Builder& to);

  // The slice's part of an array in memory, and that array with it replaced.
  ir::Value sliceOf(ir::Builder& b, ir::Value array, ir::Cut cut);
  ir::Value update(ir::Builder& b, ir::Value array, ir::Value part, ir::Cut cut);
  // What one turn of a loop writes into an array, of which the slice has the lines of `cut`.
  ir::Value updateStack(const ir::Op& update, ir::Value stack, ir::Cut cut);

 private:
  Shape shapeOf(ir::Value v, ir::Cut cut) const;
  ir::Value firstLine(ir::Cut cut);
  ir::Values starts(ir::Value array, ir::Cut cut);
  bool isInside(ir::Value v) const;
  ir::Value makeInside(ir::Value v, ir::Cut cut);
  ir::Value sliceInTurn(const ir::Op& op, ir::Cut cut);
  ir::Value copy(ir::Value v, ir::Cut cut, const std::vector<ir::Cut>& operands);

  ir::Module& m_;
  ir::Builder &outside_, &inside_;
  const ir::Region& body_;
  const ir::Value first_;
  const int64_t rows_;
  ir::Value zero_;
  std::map<std::pair<uint32_t, ir::Cut>, ir::Value> made_;
};

}  // namespace tercel::plan
