// Layouts of a program's arguments and results that are not row-major.
#pragma once
#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::ir {

// What layout_mode asks of main's arguments and results, as XLA writes it: "default", "auto" or
// "{0,1}". Each gets the type that its memory has, a `layout`, and a transpose inside main, so that
// nothing else knows of layouts. UNIMPLEMENTED where there are tiles.
Status applyLayoutModes(Module& module);

}  // namespace tercel::ir
