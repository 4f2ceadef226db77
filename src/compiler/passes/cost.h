// Rough costs that rules weigh: which elementwise ops are arithmetic and which are functions.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::passes {

// A few instructions a vector; what is cheaper done again than read from memory.
inline bool isCheapElementwise(ir::OpKind kind) {
  return ir::isElementwise(kind) && !ir::isCostly(kind) && kind != ir::OpKind::map_;
}

}  // namespace tercel::passes
