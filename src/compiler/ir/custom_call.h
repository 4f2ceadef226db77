// What the handler of a custom_call is shown. The op's own values lie in memory as their types say,
// row-major; where operand_layouts or result_layouts are given, the handler knows their dims in
// another order.
#pragma once
#include <vector>

#include "compiler/ir/module.h"
#include "core/layout.h"
#include "core/status.h"

namespace tercel::ir {

// JAX's claim about the shapes that symbols stood for: its first operand must be true. The others
// are what "{0}", "{1}", ... in its backend_config, a message, stand for.
inline constexpr std::string_view kShapeAssertion = "shape_assertion";
// The error, where it does not hold; `operands` are known.
Status checkShapeAssertion(const Op& op, std::span<const Literal> operands);

// Of all operands or results (`key` is operand_layouts or result_layouts, their layouts one after
// another; absent: all are row-major).
std::vector<Type> shownTypes(const Module& module, const Op& op, const Values& values,
                             AttrKey key);

}  // namespace tercel::ir
