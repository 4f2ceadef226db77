#include "compiler/kernel/line_tasks.h"

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

}  // namespace tercel::kernel
