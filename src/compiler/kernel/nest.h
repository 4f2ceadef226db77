// What the lowerings of all nests share: parameters, domains, tasks.
#pragma once
#include "compiler/kernel/cluster.h"
#include "compiler/kernel/emitter.h"

namespace tercel::kernel {

// A cluster being lowered: its kernel, and the buffers of its values.
class Lowering {
 public:
  Lowering(const ir::Module& module, const Cluster& cluster, const Machine& machine)
      : module(module), cluster(cluster), machine(machine), builder(kernel) {
    addParams();
  }

  const ir::Module& module;
  const Cluster& cluster;
  const Machine& machine;
  Kernel kernel;
  Builder builder;
  std::vector<BufferId> input_buffers, output_buffers;

  // Binds the inputs (and no outputs) to their memory.
  void bindInputs(Emitter& emitter) const;
  void storeOutput(Emitter& emitter, size_t output, const Index& linear, const Elem& elem) const;

 private:
  void addParams();
};

// The input that is `v`.
size_t inputOf(const Cluster& cluster, ir::Value v);

// Lanes of a vector for the widest element type that the cluster computes with.
int vectorLanes(const ir::Module& module, const Cluster& cluster, const Machine& machine);
// Nanoseconds that the cluster takes on one core, roughly.
double clusterCost(const ir::Module& module, const Cluster& cluster);

// One loop of a nest over a domain; domain dimension `dim` index gets `stride` times its variable.
struct Loop {
  size_t dim;
  int64_t extent;
  int64_t stride;
};

// The loops that suit a domain: split where an index map divides, merged where all accesses are
// linear. `evaluate` emits everything the nest does at given domain indices.
using Evaluate = std::function<void(Emitter&, const Indices&)>;
struct LoopPlan {
  std::vector<Loop> loops;               // before merging, outermost first
  std::vector<std::vector<size_t>> groups;  // merged runs of loops, outermost first
  std::vector<std::vector<int64_t>> strides;  // of each access: for each group; empty if irregular
  std::vector<Access> accesses;
  int64_t groupExtent(size_t group) const;
};
// Loops of different `classes` (one for each domain dimension; empty: all alike) are never merged.
LoopPlan planLoops(const Lowering& lowering, std::span<const int64_t> domain,
                   const Evaluate& evaluate, const std::vector<bool>& classes = {});
// Domain indices from one index for each group.
Indices domainIndices(IndexSpace& space, const LoopPlan& plan, size_t rank,
                      std::span<const Index> groups);

Result<Kernel> lowerLoop(const ir::Module&, const Cluster&, const Machine&);
Result<Kernel> lowerRows(const ir::Module&, const Cluster&, const Machine&);
Result<Kernel> lowerContract(const ir::Module&, const Cluster&, const Machine&);
Result<Kernel> lowerUpdate(const ir::Module&, const Cluster&, const Machine&);
Result<Kernel> lowerScatter(const ir::Module&, const Cluster&, const Machine&);
Result<Kernel> lowerSelectAndScatter(const ir::Module&, const Cluster&, const Machine&);
Result<Kernel> lowerComparator(const ir::Module&, const Cluster&, const Machine&);
Result<Kernel> lowerRegion(const ir::Module&, const Cluster&, const Machine&);

}  // namespace tercel::kernel
