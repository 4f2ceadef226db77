// StableHLO programs as our IR. The only reader of MLIR.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::stablehlo {

// The versions a program may be written for: what the plugin tells JAX.
inline constexpr std::array<int64_t, 3> kOldestVersion = {0, 9, 0};
inline constexpr std::array<int64_t, 3> kNewestVersion = {1, 20, 0};

// What is known of main's arguments where a program leaves it open.
struct GivenArguments {
  std::vector<std::optional<Dims>> dims;  // by number
  // Of main's first argument, which jax.export adds to a program for several platforms: the number
  // of the one that it shall run on. The Module's main does not have it.
  std::optional<int32_t> platform;
};

// Reads a portable artifact. The Module keeps nothing of the bytes. Its ids, arities and region
// structure are sound; whether types agree is ir::verify's to say.
//   INVALID_ARGUMENT    malformed bytes, with their offset, or an op used wrongly
//   FAILED_PRECONDITION an argument whose sizes are open, and none are given
//   UNIMPLEMENTED       an op, type, attribute or encoding that we do not have, by name, with the
//                       op's source location; MLIR text
//   RESOURCE_EXHAUSTED  sharing in the file that would take far more memory than the file
Result<ir::Module> readStablehlo(std::span<const std::byte> artifact,
                                 const GivenArguments& given = {});

}  // namespace tercel::stablehlo
