// A Module as mlir_listing.py writes one: for comparison line by line.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::stablehlo {

std::vector<std::string> listing(const ir::Module& module);
// Equal up to the `?` of an expected line, each of which stands for any word.
bool matches(const std::string& expected, const std::string& line);

}  // namespace tercel::stablehlo
