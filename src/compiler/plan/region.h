// Loops and conditionals that become one native function, with everything inside them.
#pragma once
#include <optional>

#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// A region cluster of a while, if or case whose bodies are small; empty where they are not, or hold
// an op that is a step of its own.
std::optional<kernel::Cluster> regionCluster(const ir::Module& module, ir::OpId op);

}  // namespace tercel::plan
