// How MLIR bytecode begins.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace tercel::stablehlo {

inline constexpr std::string_view kBytecodeMagic = "ML\xefR";

inline bool isBytecode(std::span<const std::byte> file) {
  return std::ranges::equal(file.first(std::min(file.size(), kBytecodeMagic.size())),
                            std::as_bytes(std::span(kBytecodeMagic)));
}

}  // namespace tercel::stablehlo
