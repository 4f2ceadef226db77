// What is known of a reduction's body.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::kernel {

// Whether the init values may enter the reduction more than once: body(init, init) = init, from
// which, the body being associative and commutative, it follows. Unknown counts as no.
bool initIsRepeatable(const ir::Module& module, const ir::Op& reduce);

}  // namespace tercel::kernel
