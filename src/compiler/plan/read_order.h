// The order of units around updates.
#pragma once
#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// Moves what reads an array in front of the unit that updates it, where that does not depend on the
// update: nothing then needs the array as it was, and the update happens in place.
void readBeforeUpdate(const ir::Module& module, std::vector<kernel::Unit>& units);

}  // namespace tercel::plan
