// Tasks of vectors along one loop of a plan, in which all loops but a few are enumerated.
#pragma once
#include <functional>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {

struct LineTasks {
  const LoopPlan& plan;
  size_t along;               // the group that vectors lie along, of at least `lanes`
  std::vector<size_t> outer;  // the groups that say which line
  int lanes;
  int64_t block;  // a task's part of a line: whole vectors

  // `body` where vectors begin, with the indices of the outer groups. The last ones of a line are
  // moved back, so that they are whole.
  using Body = std::function<void(std::vector<Index>, V)>;
  void run(Lowering& low, IndexSpace& space, const Body& body) const;
};

// Domain indices in a row, which the groups behind `along` make: of so many lanes from a place on.
Indices rowIndices(IndexSpace& space, const LoopPlan& plan, size_t rank, std::vector<Index> groups,
                   size_t along, int64_t begin, int64_t lanes = 1);

}  // namespace tercel::kernel
