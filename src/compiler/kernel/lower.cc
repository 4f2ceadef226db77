#include "compiler/kernel/cluster.h"
#include "compiler/kernel/nest.h"

namespace tercel::kernel {
namespace {

struct Row {
  std::string_view name;
  Result<Kernel> (*lower)(const ir::Module&, const Cluster&, const Machine&);
};
constexpr Row kNests[] = {
    {"loop", lowerLoop},
    {"rows", lowerRows},
    {"contract", lowerContract},
    {"update", lowerUpdate},
    {"scatter", lowerScatter},
    {"select_and_scatter", lowerSelectAndScatter},
    {"comparator", lowerComparator},
};

}  // namespace

std::string_view nestName(Nest nest) { return kNests[static_cast<size_t>(nest)].name; }

Result<Kernel> lower(const ir::Module& module, const Cluster& cluster, const Machine& machine) {
  TERCEL_ASSIGN(Kernel kernel,
                kNests[static_cast<size_t>(cluster.nest)].lower(module, cluster, machine));
  kernel.cost = clusterCost(module, cluster);
  return kernel;
}

}  // namespace tercel::kernel
