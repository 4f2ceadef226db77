#include <algorithm>

#include "compiler/kernel/bounds.h"
#include "compiler/kernel/cluster.h"
#include "compiler/kernel/foresee.h"
#include "compiler/kernel/nest.h"
#include "compiler/kernel/promote.h"
#include "compiler/kernel/unused.h"

namespace tercel::kernel {
namespace {

struct Row {
  std::string_view name;
  Status (*lower)(Lowering&);
};
constexpr Row kNests[] = {
    {"loop", lowerLoop},
    {"rows", lowerRows},
    {"scan", lowerScan},
    {"contract", lowerContract},
    {"update", lowerUpdate},
    {"scatter", lowerScatter},
    {"select_and_scatter", lowerSelectAndScatter},
    {"comparator", lowerComparator},
    {"region", lowerRegion},
};

}  // namespace

std::string_view nestName(Nest nest) { return kNests[static_cast<size_t>(nest)].name; }

Status lowerNest(Lowering& low) {
  return kNests[static_cast<size_t>(low.cluster.nest)].lower(low);
}

Result<Kernel> lower(const ir::Module& module, const Cluster& cluster, const Machine& machine) {
  KernelLowering low(module, cluster, machine);
  TERCEL_TRY(lowerNest(low));
  promoteScratch(low.kernel);
  const bool loops = std::ranges::any_of(
      low.kernel.insts, [](const Inst& inst) { return inst.op == Opcode::while_; });
  if (loops) {
    dropLimits(low.kernel);
    foreseePlaces(low.kernel);
  }
  removeUnused(low.kernel);
  low.kernel.cost = clusterCost(module, cluster, machine);
  return std::move(low.kernel);
}

}  // namespace tercel::kernel
