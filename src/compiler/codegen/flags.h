// MXCSR: what x86's arithmetic has met.
#pragma once
#include <cstdint>

namespace tercel::codegen {

inline constexpr uint32_t kMetSubnormals = 0x12;  // subnormal operands, results that underflow

}  // namespace tercel::codegen
