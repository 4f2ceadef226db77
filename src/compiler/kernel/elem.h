// One element of a tensor, or one vector of elements, as kernel values; and what each elementwise op
// does to it.
//
// Representation: pred is i1; integers are themselves; f32 and f64 are themselves; f16 and bf16 are
// held in f32, rounded to their precision after each op; complex numbers are two parts.
#pragma once
#include <span>

#include "compiler/ir/module.h"
#include "compiler/kernel/builder.h"

namespace tercel::kernel {

struct Elem {
  V re;
  V im;  // of a complex number only
};

DType bitsOf(DType dtype);  // the unsigned integer that f16, bf16 and c64 are as bits; others as is
Scalar storedScalar(DType dtype);    // in memory; of one part of a complex number
Scalar computedScalar(DType dtype);  // in registers

Elem elemConstant(Builder& b, DType dtype, const ir::Literal& literal, int64_t index);
Elem elemSelect(Builder& b, V condition, const Elem& on_true, const Elem& on_false);
Elem elemConvert(Builder& b, const Elem& x, DType from, DType to);
Elem elemWiden(Builder& b, const Elem& x, int lanes);
// Flags change places as bytes: machines have no instructions that shuffle masks.
V inBytes(Builder& b, V v);
V shuffled(Builder& b, V v, std::span<const int16_t> list);
// The values of elements one after another, as blocks carry them, and back, alike to those of `like`.
Builder::Values flatten(std::span<const Elem> elems);
std::vector<Elem> unflatten(std::span<const V> values, std::span<const Elem> like);
// f16 and bf16: rounded to that precision; other types unchanged.
V roundTo(Builder& b, V x, DType dtype);
// Integer element -> i64, by its own sign.
V elemToIndex(Builder& b, const Elem& x, DType dtype);

// The result of an elementwise op (unary, binary, compare, select, clamp) for operands of dtype
// `in` (of the second operand for select) and a result of dtype `out`.
Elem emitElementwise(Builder& b, const ir::Op& op, DType in, DType out, std::span<const Elem> args);
Elem emitComplex(Builder& b, const ir::Op& op, DType in, DType out, std::span<const Elem> args);

}  // namespace tercel::kernel
