// Reducers that are one op.
#pragma once
#include <optional>

#include "compiler/ir/module.h"

namespace tercel::passes {

// The kind of the op, where a region of two scalars returns one commutative op on them.
std::optional<ir::OpKind> reducerKind(const ir::Module& module, ir::RegionId region);

}  // namespace tercel::passes
