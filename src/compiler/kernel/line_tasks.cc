#include "compiler/kernel/line_tasks.h"

#include <algorithm>

namespace tercel::kernel {

void LineTasks::run(Lowering& low, IndexSpace& space, const Body& body) const {
  Builder& b = low.builder;
  const int64_t extent = plan.groupExtent(along), blocks = (extent + block - 1) / block;
  Dims extents;
  for (size_t g : outer) extents.push_back(plan.groupExtent(g));
  const int64_t tasks = blocks * elementCount(extents);
  low.forTasks(tasks, [&](V task) {
    const Index t = space.loop(task, tasks);
    const V first = space.emitScalar(space.scale(space.remainder(t, blocks), block));
    const Indices at = space.delinear(space.quotient(t, blocks), extents);
    std::vector<Index> groups(plan.groups.size());
    for (size_t i = 0; i < outer.size(); ++i)
      groups[outer[i]] = at[i].isConstant()
                             ? at[i] : space.loop(space.emitScalar(at[i]), extents[i]);
    const V last = b.binary(Opcode::smin, b.iadd(first, b.index(block)), b.index(extent));
    b.forLoop(first, last, lanes, [&](V i) {
      if (extent % lanes != 0) i = b.binary(Opcode::smin, i, b.index(extent - lanes));
      body(groups, i);
    });
  });
}

Indices rowIndices(IndexSpace& space, const LoopPlan& plan, size_t rank, std::vector<Index> groups,
                   size_t along, int64_t begin, int64_t lanes) {
  int64_t below = 1;  // elements of the row within an index of the group
  for (size_t g = groups.size(); g-- > along + 1; below *= plan.groupExtent(g)) {
    std::vector<int64_t> places;
    for (int64_t lane = 0; lane < lanes; ++lane)
      places.push_back((begin + lane) / below % plan.groupExtent(g));
    const bool is_one = std::ranges::count(places, places[0]) == lanes;
    groups[g] = is_one ? Index(places[0]) : space.known(std::move(places), plan.groupExtent(g));
  }
  return domainIndices(space, plan, rank, groups);
}

}  // namespace tercel::kernel
