// Where programs meet subnormal numbers: exponentials of what lies wide apart, states that decay.
#pragma once
#include "compiler/kernel/cluster.h"

namespace tercel::kernel {

// Whether f32 `v`, which the cluster computes, is often subnormal where programs run for long.
bool mayBeTiny(const ir::Module& module, const Cluster* cluster, ir::Value v);

// Whether the product `op` is a state by a number, and the state's next value or a part of its sum.
bool isDecay(const ir::Module& module, const Cluster& cluster, const ir::Op& op);

}  // namespace tercel::kernel
