// Indices looked at through ops that only move elements.
#pragma once
#include <optional>

#include "compiler/ir/module.h"
#include "compiler/kernel/index.h"

namespace tercel::kernel {

// Into the only operand of an op, of the element that it has at these indices. Nothing where that
// is more than arithmetic on them.
std::optional<Indices> movedIndices(IndexSpace& space, const ir::Module& module, const ir::Op& op,
                                    const Indices& indices);

}  // namespace tercel::kernel
