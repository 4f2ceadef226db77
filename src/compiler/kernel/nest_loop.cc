// Each output element on its own: elementwise work, movement, gathers, and small sums.
#include "compiler/kernel/nest.h"
#include "compiler/kernel/nest_transpose.h"
#include "compiler/kernel/tasks.h"

namespace tercel::kernel {

Status lowerLoop(Lowering& low) {
  const ir::Module& m = low.module;
  const Cluster& cluster = low.cluster;
  if (lowerTransposed(low)) return Status();
  const Dims& dims = m.shape(cluster.outputs[0]).dims;
  emitElementLoops(low, dims, [&](Emitter& e, const Indices& domain) {
    Index linear = e.space().linear(domain, dims);
    std::vector<Elem> values;
    for (ir::Value v : cluster.outputs) {
      const Dims& own = m.shape(v).dims;
      values.push_back(e.at(v, own == dims ? domain : e.space().delinear(linear, own)));
    }
    for (size_t i = 0; i < values.size(); ++i) low.storeOutput(e, i, linear, values[i]);
  });
  return Status();
}

}  // namespace tercel::kernel
