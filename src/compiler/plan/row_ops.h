// The ops of a region that go through a batch, each of whose rows needs nothing of the others.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/cut.h"

namespace tercel::plan {

// An op that may be done for some rows alone, on these parts of its operands.
struct RowOp {
  ir::OpId op;
  ir::Cut cut;          // of its result that a row has
  bool is_sum = false;  // the result is the sum of what the rows have, each as large as all of it
  std::vector<ir::Cut> operands;
};

// Those of a list of ops, and the others: what may be done before all of them, and what needs some of
// them to be whole.
struct RowOps {
  int64_t rows = 0;
  bool has_narrow_rows = false;  // lie along the innermost dimension of an array
  std::vector<RowOp> ops;
  std::vector<ir::Value> wanted;  // what others read of them
  std::vector<ir::OpId> before, after;
};

// Of the batch that most of the work goes through; none where threads would gain nothing from it.
// `results` are read in the end.
std::optional<RowOps> findRowOps(const ir::Module& module, std::span<const ir::OpId> ops,
                                 const ir::Values& results);

}  // namespace tercel::plan
