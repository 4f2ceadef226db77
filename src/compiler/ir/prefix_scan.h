// Windows that are prefixes: what cumsum and its like arrive as.
#pragma once
#include <optional>

#include "compiler/ir/module.h"

namespace tercel::ir {

// Of a reduce_window whose result i combines all elements up to i along one dimension (from i on:
// reverse), and which has no other window.
struct PrefixScan {
  size_t dimension = 0;
  bool reverse = false;
};

std::optional<PrefixScan> prefixScan(const Module& module, const Op& op);

}  // namespace tercel::ir
