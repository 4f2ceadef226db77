// Conversions between the small floats and f32 or f64, as ops on their bits.
#pragma once
#include "compiler/ir/builder.h"

namespace tercel::ir {

// A sum, product, quotient or root of small floats may be rounded to this first and then to their
// type: that gives what rounding it once does.
DType arithmeticType(DType small_float);
// u8 -> f32, or the type of its arithmetic: exact.
Value decodeSmallFloat(Builder& b, Value bits, DType from, DType to = DType::f32);
// f32, f64 or the type of its arithmetic -> u8: rounded to nearest, ties to even but for powers of
// two, which round them up. What is too large becomes infinity, else NaN, else the largest number,
// as `to` has them.
Value encodeSmallFloat(Builder& b, Value number, DType to);

// What needs no other float: whether a byte is not zero, one or zero, -x and |x| of bytes.
Value isSmallNonZero(Builder& b, Value byte, DType from);
Value smallOneOrZero(Builder& b, Value pred, DType to);
Value negatedSmall(Builder& b, Value byte, DType dtype);
Value absoluteSmall(Builder& b, Value byte, DType dtype);

}  // namespace tercel::ir
