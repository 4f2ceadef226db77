// What the parts of a library set.
#pragma once
#include "runtime/engine/parts.h"

namespace tercel::engine {

Parts& chosenParts();

}  // namespace tercel::engine
