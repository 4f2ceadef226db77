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
};

}  // namespace

std::string_view nestName(Nest nest) { return kNests[static_cast<size_t>(nest)].name; }

Result<Kernel> lower(const ir::Module& module, const Cluster& cluster, const Machine& machine) {
  return kNests[static_cast<size_t>(cluster.nest)].lower(module, cluster, machine);
}

}  // namespace tercel::kernel
