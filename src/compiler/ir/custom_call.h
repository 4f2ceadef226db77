// What the handler of a custom_call is shown. The op's own values lie in memory as their types say,
// row-major; where operand_layouts or result_layouts are given, the handler knows their dims in
// another order.
#pragma once
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::ir {

// layout[0] is the dim that is innermost in memory, and so on: `shown` dims as they lie in memory,
Dims memoryOrder(const Dims& shown, std::span<const int64_t> layout);
// and back.
Dims shownOrder(const Dims& in_memory, std::span<const int64_t> layout);

// Of all operands or results (`key` is operand_layouts or result_layouts, their layouts one after
// another; absent: all are row-major).
std::vector<Type> shownTypes(const Module& module, const Op& op, const Values& values,
                             AttrKey key);

}  // namespace tercel::ir
