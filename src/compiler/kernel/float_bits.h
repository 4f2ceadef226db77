// f32 and f64 as integers, whose order is that of the magnitudes.
#pragma once
#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// The bits without the sign.
inline V magnitudeOf(Builder& b, V x) {
  const Type word = b.type(x).with(b.type(x).scalar == Scalar::f64 ? Scalar::i64 : Scalar::i32);
  const uint64_t mask = (uint64_t{1} << (bitWidth(word.scalar) - 1)) - 1;
  return b.binary(Opcode::and_, b.cast(Opcode::bitcast, x, word.scalar), b.constant(word, mask));
}

// What the bits of a number are more once it is multiplied by 2^e.
inline V exponent(Builder& b, V bits, int64_t e) {
  const int mantissa = b.type(bits).scalar == Scalar::i64 ? 52 : 23;
  return b.constant(b.type(bits), static_cast<uint64_t>(e) << mantissa);
}

}  // namespace tercel::kernel
