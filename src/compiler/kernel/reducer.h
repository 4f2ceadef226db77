// What is known of a reduction's body.
#pragma once
#include <optional>

#include "compiler/ir/module.h"

namespace tercel::kernel {

// Whether the init values may enter the reduction more than once: body(init, init) = init, from
// which, the body being associative and commutative, it follows. Unknown counts as no.
bool initIsRepeatable(const ir::Module& module, const ir::Op& reduce);

// Of a reduction that chooses places (argmax): what its body asks of two of them, whether the first
// is earlier. That holds, or makes no difference, where elements come in order.
std::optional<ir::Value> knownInOrder(const ir::Module& module, const ir::Op& reduce);

}  // namespace tercel::kernel
