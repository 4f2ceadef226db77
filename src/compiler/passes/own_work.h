// Element work that is done for one reader alone.
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// Whether the elements of the result are made of those of the operands in the same place, or of
// single ones.
bool actsElementByElement(const Rewriter& rw, const ir::Op& op);

// Such ops of the region being walked that make what the op being visited reads of `results`, and
// that nothing else reads: each one after all of its readers.
std::vector<ir::OpId> ownWork(const Rewriter& rw, const ir::Values& results);

// Such work done anew, and no longer as it was, on arrays of other dimensions, which `outside` makes
// of those that it reads. Single elements stay.
class WorkAnew {
 public:
  using Outside = std::function<ir::Value(ir::Value)>;
  WorkAnew(Rewriter& rw, const std::vector<ir::OpId>& work, const Dims& dims, Outside outside);
  // What stands for a result of the work, or for what it reads.
  ir::Value of(ir::Value v);

 private:
  Rewriter& rw_;
  const Outside outside_;
  std::unordered_map<uint32_t, ir::Value> made_;
};

}  // namespace tercel::passes
