// Makes a failing module small.
#pragma once
#include <functional>

#include "compiler/ir/module.h"

namespace tercel::tools {

using Fails = std::function<bool(const ir::Module&)>;

// A module that fails as `module` does, from which no single edit of ours takes anything without it
// failing no more: results, ops, operands, regions, sizes, constants, attributes. Each module that
// `fails` is asked about verifies.
ir::Module reduce(ir::Module module, const Fails& fails);

}  // namespace tercel::tools
