// Which attributes belong to which op, by the table attrs.def.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::ir {

bool takesAttr(OpKind kind, AttrKey key);

}  // namespace tercel::ir
