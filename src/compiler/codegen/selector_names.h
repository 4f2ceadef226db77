// The parts that the names of vector instructions are made of.
#pragma once
#include <string>

#include "compiler/kernel/kernel.h"
#include "core/status.h"

namespace tercel::codegen {

constexpr int kBlockBits = 128;  // instructions move lanes within blocks, or whole blocks

// Bits of the register that holds a vector.
inline int registerBits(kernel::Type type) {
  return std::max(128, kernel::bitWidth(type.scalar) * type.lanes);
}

inline const char* widthSuffix(int bits) {
  return bits == 512 ? "Z" : bits == 256 ? "Z256" : "Z128";
}
inline const char* widthSuffix(kernel::Type type) { return widthSuffix(registerBits(type)); }

// PS, PD, PH; of scalars SS, SD.
inline std::string floatSuffix(kernel::Type type) {
  const char* width = type.scalar == kernel::Scalar::f64   ? "D"
                      : type.scalar == kernel::Scalar::f16 ? "H"
                                                           : "S";
  return cat(type.isVector() ? "P" : "S", width);
}

// B, W, D, Q.
inline char integerLetter(kernel::Scalar scalar) {
  const int width = kernel::bitWidth(scalar);
  return width == 64 ? 'Q' : width == 32 ? 'D' : width == 16 ? 'W' : 'B';
}

// The stems of instructions with two operands: of vectors, whose type follows, and of integers in
// general registers. Null where there is none.
struct Stem {
  kernel::Opcode op;
  const char* vectors;
  const char* scalars;
  bool commutes;
};
const Stem* stemOf(kernel::Opcode op);

inline bool isWideFloat(kernel::Scalar scalar) {
  return scalar == kernel::Scalar::f32 || scalar == kernel::Scalar::f64;
}

}  // namespace tercel::codegen
