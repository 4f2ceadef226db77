// The math builder over plain scalars: the plain operations, and one with all optional hooks.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compiler/kernel/math/builder.h"

namespace tercel::math {

template <class T>
struct ScalarBuilder {
  static constexpr int kBits = 8 * sizeof(T);
  using V = T;
  using I = std::conditional_t<kBits == 64, int64_t, int32_t>;
  using U = std::make_unsigned_t<I>;
  using M = bool;

  V constant(double c) { return static_cast<T>(c); }
  V add(V x, V y) { return x + y; }
  V sub(V x, V y) { return x - y; }
  V mul(V x, V y) { return x * y; }
  V div(V x, V y) { return x / y; }
  V fma(V x, V y, V z) { return std::fma(x, y, z); }
  V neg(V x) { return -x; }
  V abs(V x) { return std::fabs(x); }
  V sqrt(V x) { return std::sqrt(x); }
  V trunc(V x) { return std::trunc(x); }
  V min(V x, V y) { return x < y ? x : y; }
  V max(V x, V y) { return x > y ? x : y; }
  V select(M m, V x, V y) { return m ? x : y; }
  V fromBits(I x) { return std::bit_cast<V>(x); }
  V fromInt(I x) { return static_cast<V>(x); }

  M lt(V x, V y) { return x < y; }
  M le(V x, V y) { return x <= y; }
  M eq(V x, V y) { return x == y; }
  M ne(V x, V y) { return x != y; }
  M ieq(I x, I y) { return x == y; }
  M ilt(I x, I y) { return x < y; }
  M maskAnd(M x, M y) { return x && y; }
  M maskOr(M x, M y) { return x || y; }
  M maskNot(M x) { return !x; }

  I constantInt(int64_t n) { return static_cast<I>(n); }
  I bitsOf(V x) { return std::bit_cast<I>(x); }
  I iselect(M m, I x, I y) { return m ? x : y; }
  I iadd(I x, I y) { return wrap(unsign(x) + unsign(y)); }
  I isub(I x, I y) { return wrap(unsign(x) - unsign(y)); }
  I imul(I x, I y) { return wrap(unsign(x) * unsign(y)); }
  I umulh(I x, I y) {
    using Wide = std::conditional_t<kBits == 64, unsigned __int128, uint64_t>;
    return wrap(static_cast<U>(static_cast<Wide>(unsign(x)) * unsign(y) >> kBits));
  }
  I iand(I x, I y) { return x & y; }
  I ior(I x, I y) { return x | y; }
  I ixor(I x, I y) { return x ^ y; }
  I shl(I x, I n) { return wrap(unsign(x) << n); }
  I lshr(I x, I n) { return wrap(unsign(x) >> n); }
  I ashr(I x, I n) { return x >> n; }

 private:
  static U unsign(I x) { return static_cast<U>(x); }
  static I wrap(U x) { return static_cast<I>(x); }
};

template <class T>
struct HookedScalarBuilder : ScalarBuilder<T> {
  using V = T;

  static bool hasScalb() { return true; }
  V scalb(V x, V k) {
    const T limit = 10000;
    return std::isnan(k) ? k
                         : std::ldexp(x, static_cast<int>(std::fmax(-limit, std::fmin(limit, k))));
  }
  template <size_t n, class F>
  V rarely(const char*, bool m, const std::array<V, n>& v, F&& f) {
    return m ? f(v) : v[0];
  }
  template <class Cond, class Body>
  V repeatWhile(int bound, V v, Cond&& cond, Body&& body) {
    for (int i = 0; i < bound && cond(v); ++i) v = body(v);
    return v;
  }
};

// As a kernel's builder is where it works on one number at a time.
template <class T>
struct LoneScalarBuilder : HookedScalarBuilder<T> {
  static bool isScalar() { return true; }
};

static_assert(MathBuilder<ScalarBuilder<float>> && MathBuilder<HookedScalarBuilder<double>>);

}  // namespace tercel::math
