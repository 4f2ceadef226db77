// Attributes as text, where our IR keeps them as such: dictionaries of composites and custom calls,
// shardings. Numbers carry their type, strings are quoted:
//   {axis = 1 : s64, name = "x", scale = 0.5 : f32, sizes = s64[2](8, 16)}
//   <@mesh, [{"x", "y":(1)2}, {?}], replicated={"z"}>
#pragma once
#include <string>

#include "compiler/stablehlo/budget.h"
#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

// UNIMPLEMENTED for an attribute that has no text here.
Status attrText(const WireModule& wire, uint32_t attr, Budget& budget, std::string* text);

}  // namespace tercel::stablehlo
