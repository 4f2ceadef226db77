// What a sort's comparator compares, where it is one of those that JAX makes.
#pragma once
#include <vector>

#include "compiler/ir/module.h"
#include "core/sort_keys.h"

namespace tercel::plan {

// Empty where only the comparator knows.
std::vector<SortKey> comparatorKeys(const ir::Module& module, const ir::Op& sort);

}  // namespace tercel::plan
