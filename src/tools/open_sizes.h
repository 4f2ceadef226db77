// Shapes of arguments that a program leaves open, from a command line: --size and --shape.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/shape.h"
#include "core/status.h"
#include "tools/command_line.h"

namespace tercel::tools {

struct SizeFlags {
  std::vector<std::string> sizes;   // b=1,8,64: of a dimension that jax.export has named
  std::vector<std::string> shapes;  // argument0=1x4,8x4: of an argument of main
};
SizeFlags sizeFlags(CommandLine& line);

struct Signature {
  std::string text;  // "b8", "8x4"; "" where there is only one
  std::vector<std::optional<Dims>> dims;
};

// One for each choice of sizes, and of these one for each place in the lists of shapes. `arguments`
// as ExportedFile has them.
Result<std::vector<Signature>> signaturesOf(
    const std::vector<std::vector<std::string>>& arguments, const SizeFlags& flags);

}  // namespace tercel::tools
