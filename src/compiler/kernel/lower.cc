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

// Of vectors of many lanes, which take long to compile where they are masked and shuffled: their
// instructions, by the registers that they fill.
int64_t registersOfManyLanes(const Kernel& kernel) {
  constexpr int64_t kMany = 16, kRegister = 64;
  int64_t count = 0;
  for (const Inst& inst : kernel.insts)
    if (inst.type.lanes > kMany)
      count += std::max<int64_t>(1, inst.type.lanes * byteSize(inst.type.scalar) / kRegister);
  return count;
}

}  // namespace

std::string_view nestName(Nest nest) { return kNests[static_cast<size_t>(nest)].name; }

Status lowerNest(Lowering& low) {
  return kNests[static_cast<size_t>(low.cluster.nest)].lower(low);
}

Result<Kernel> lower(const ir::Module& module, const Cluster& cluster, const Machine& machine) {
  constexpr int64_t kLong = 300;
  constexpr int kNarrow = 16;
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
  if (machine.vector_bytes > kNarrow && registersOfManyLanes(low.kernel) > kLong) {
    Machine narrow = machine;
    narrow.vector_bytes = kNarrow;
    return lower(module, cluster, narrow);
  }
  low.kernel.cost = clusterCost(module, cluster, machine);
  return std::move(low.kernel);
}

}  // namespace tercel::kernel
