// What the functions of this folder are written over: a builder of float vectors (or of plain
// scalars, or of SSA values) of one width. V, I and M may be one type.
#pragma once
#include <concepts>
#include <cstdint>

namespace tercel::math {

// V: floats of kBits (f32 or f64), I: integers of kBits, M: masks; all with the same lanes.
// Every float operation rounds once, to nearest even, and keeps subnormals; nothing is contracted
// or reassociated. A function asks for the same constant many times: a builder of SSA values should
// share equal ones.
//
//   constant(double)       rounded to the type      constantInt(int64_t)  its low kBits
//   fma(a, b, c)           a * b + c, rounded once
//   min(a, b)              a < b ? a : b, so b where either is NaN (x86's min)
//   max(a, b)              a > b ? a : b
//   trunc                  to an integral value, towards zero
//   lt, le, eq             false where an operand is NaN; ne: true there
//   select(m, a, b)        lane by lane; iselect the same for I
//   bitsOf, fromBits       reinterpret V as I and back
//   fromInt                signed I -> V, rounded
//   shl, lshr, ashr        amounts (an I) in [0, kBits)
//   umulh                  high half of the unsigned double-width product
//   ilt                    signed
template <class B>
concept MathBuilder = (B::kBits == 32 || B::kBits == 64) &&
                      requires(B& b, typename B::V v, typename B::I i, typename B::M m, double c,
                               int64_t n) {
  { b.constant(c) } -> std::same_as<typename B::V>;
  { b.add(v, v) } -> std::same_as<typename B::V>;
  { b.sub(v, v) } -> std::same_as<typename B::V>;
  { b.mul(v, v) } -> std::same_as<typename B::V>;
  { b.div(v, v) } -> std::same_as<typename B::V>;
  { b.fma(v, v, v) } -> std::same_as<typename B::V>;
  { b.neg(v) } -> std::same_as<typename B::V>;
  { b.abs(v) } -> std::same_as<typename B::V>;
  { b.sqrt(v) } -> std::same_as<typename B::V>;
  { b.trunc(v) } -> std::same_as<typename B::V>;
  { b.min(v, v) } -> std::same_as<typename B::V>;
  { b.max(v, v) } -> std::same_as<typename B::V>;
  { b.select(m, v, v) } -> std::same_as<typename B::V>;
  { b.fromBits(i) } -> std::same_as<typename B::V>;
  { b.fromInt(i) } -> std::same_as<typename B::V>;

  { b.lt(v, v) } -> std::same_as<typename B::M>;
  { b.le(v, v) } -> std::same_as<typename B::M>;
  { b.eq(v, v) } -> std::same_as<typename B::M>;
  { b.ne(v, v) } -> std::same_as<typename B::M>;
  { b.ieq(i, i) } -> std::same_as<typename B::M>;
  { b.ilt(i, i) } -> std::same_as<typename B::M>;
  { b.maskAnd(m, m) } -> std::same_as<typename B::M>;
  { b.maskOr(m, m) } -> std::same_as<typename B::M>;
  { b.maskNot(m) } -> std::same_as<typename B::M>;

  { b.constantInt(n) } -> std::same_as<typename B::I>;
  { b.bitsOf(v) } -> std::same_as<typename B::I>;
  { b.iselect(m, i, i) } -> std::same_as<typename B::I>;
  { b.iadd(i, i) } -> std::same_as<typename B::I>;
  { b.isub(i, i) } -> std::same_as<typename B::I>;
  { b.imul(i, i) } -> std::same_as<typename B::I>;
  { b.umulh(i, i) } -> std::same_as<typename B::I>;
  { b.iand(i, i) } -> std::same_as<typename B::I>;
  { b.ior(i, i) } -> std::same_as<typename B::I>;
  { b.ixor(i, i) } -> std::same_as<typename B::I>;
  { b.shl(i, i) } -> std::same_as<typename B::I>;
  { b.lshr(i, i) } -> std::same_as<typename B::I>;
  { b.ashr(i, i) } -> std::same_as<typename B::I>;
};

// What a builder may add, each found by its name:
//
//   V scalb(V x, V k)          x * 2^k rounded once, k integral, any size (AVX-512: vscalef)
//   V getExponent(V x)         floor(log2|x|), also of subnormals; of 0, inf, NaN: -inf, inf, NaN
//                              (AVX-512: vgetexp)
//   V getMantissa(V x)         x * 2^-e in [0.75, 1.5); of 0 and inf 1, of NaN and x < 0 NaN
//                              (AVX-512: vgetmant with 0xf). Comes with getExponent.
//   V divApprox(V n, V d)      n / d within 1 ULP; |d| in [2^-60, 2^60], |n / d| <= 2^60; 0 of n =
//   0
//                              (reciprocal estimate and refinement beat vdiv on 512 bits)
//   V rarely(M m, V v, F f)    m ? f() : v lane by lane; may skip f() where m is false in all lanes
//   V repeatWhile(int bound, V v, Cond c, Body f)
//                              while c(v) holds in some lane (at most `bound` times), v = f(v) in
//                              the lanes where it holds
//
// Without them the fallbacks below give the same values with plain operations (except divApprox,
// which is then correctly rounded).

template <MathBuilder B>
typename B::V divApprox(B& b, typename B::V n, typename B::V d) {
  if constexpr (requires { b.divApprox(n, d); }) {
    return b.divApprox(n, d);
  } else {
    return b.div(n, d);
  }
}

template <MathBuilder B, class F>
typename B::V rarely(B& b, typename B::M m, typename B::V v, F&& f) {
  if constexpr (requires { b.rarely(m, v, f); }) {
    return b.rarely(m, v, f);
  } else {
    return b.select(m, f(), v);
  }
}

template <MathBuilder B, class Cond, class Body>
typename B::V repeatWhile(B& b, int bound, typename B::V v, Cond&& cond, Body&& body) {
  if constexpr (requires { b.repeatWhile(bound, v, cond, body); }) {
    return b.repeatWhile(bound, v, cond, body);
  } else {
    for (int i = 0; i < bound; ++i) v = b.select(cond(v), body(v), v);
    return v;
  }
}

}  // namespace tercel::math
