// What ops and units read and make.
#pragma once
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// The values from outside that an op's regions read.
std::vector<ir::Value> captures(const ir::Module& module, const ir::Op& op);
// Everything a unit reads; what an op's regions read besides its operands once more.
std::vector<ir::Value> readsOf(const ir::Module& module, const ir::Op& op);
std::vector<ir::Value> readsOf(const ir::Module& module, const kernel::Unit& unit);
// The values that others may read of a unit.
std::span<const ir::Value> madeBy(const ir::Module& module, const kernel::Unit& unit);
// The cluster of this op alone.
kernel::Cluster clusterOf(const ir::Module& module, ir::OpId op, kernel::Nest nest);

}  // namespace tercel::plan
