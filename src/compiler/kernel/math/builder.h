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
//   bool hasScalb()            whether the machine has it (AVX-512: vscalef):
//   V scalb(V x, V k)          x * 2^k rounded once, k integral, any size
//   bool hasRsqrt14()          whether there is rsqrt14, 1 / sqrt to 2^-14
//   bool hasQuickSubnormals()  whether scalb is as quick where its result is subnormal
//   V rarely(name, M m, array<V, n> v, F f)
//                              f(v), which is v[0] in the lanes where m is false; may skip f where
//                              m is false in all lanes. f is a function of v alone, the one of
//                              this name: code for it may be shared.
//   bool isScalar()            whether V has one lane, whose branches a machine foresees
//   V repeatWhile(int bound, V v, Cond c, Body f)
//                              while c(v) holds in some lane (at most `bound` times), v = f(v) in
//                              the lanes where it holds
//
// Without them the fallbacks give the same values with plain operations.

template <MathBuilder B>
bool isScalar(const B& b) {
  if constexpr (requires { b.isScalar(); }) return b.isScalar();
  return false;
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
