// Arguments for a program: from files, or made up.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/literal.h"
#include "core/status.h"

namespace tercel::tools {

// The array of a .npy file, which must be of the shape and type, or a file of nothing but the
// elements, which must have the bytes of `shape`, row-major.
Result<ir::Literal> readInput(const std::string& path, const Shape& shape);

// Numbers around zero; small ones that serve as indices where the type is an integer. The same for
// the same seed.
ir::Literal makeInput(const Shape& shape, uint64_t seed);

// "f32[2,3] 1 2 3 ...", the first elements only.
std::string summary(const ir::Literal& literal);

}  // namespace tercel::tools
