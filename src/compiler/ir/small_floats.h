// Conversions between the small floats and f32 or f64, as ops on their bits.
#pragma once
#include "compiler/ir/builder.h"

namespace tercel::ir {

// u8 -> f32: exact.
Value decodeSmallFloat(Builder& b, Value bits, DType from);
// f32 or f64 -> u8: rounded to nearest, ties to even but for powers of two, which round them up.
// What is too large becomes infinity, else NaN, else the largest number, as `to` has them.
Value encodeSmallFloat(Builder& b, Value number, DType to);

// What needs no other float: whether a byte is not zero, one or zero, -x and |x| of bytes.
Value isSmallNonZero(Builder& b, Value byte, DType from);
Value smallOneOrZero(Builder& b, Value pred, DType to);
Value negatedSmall(Builder& b, Value byte, DType dtype);
Value absoluteSmall(Builder& b, Value byte, DType dtype);

}  // namespace tercel::ir
