// The types that floating point is computed in, and the way there and back.
#pragma once
#include <bit>
#include <complex>
#include <limits>
#include <type_traits>

#include "core/dtype.h"

namespace tercel::eval {

// Wide: with room for one rounding at the end. Basic: the type in which + - * / and sqrt, rounded
// once more to T, are correctly rounded (long double is not one for f64: 64 < 2 * 53 + 2 bits).
template <class T>
struct Numeric {
  using Wide = T;
  using Basic = T;
};
template <>
struct Numeric<Half> {
  using Wide = double;
  using Basic = double;
};
template <>
struct Numeric<BFloat16> : Numeric<Half> {};
template <>
struct Numeric<float> : Numeric<Half> {};
template <>
struct Numeric<double> {
  using Wide = long double;
  using Basic = double;
};
template <>
struct Numeric<std::complex<float>> {
  using Wide = std::complex<double>;
  using Basic = std::complex<double>;
};
template <>
struct Numeric<std::complex<double>> {
  using Wide = std::complex<long double>;
  using Basic = std::complex<long double>;
};
template <class T>
using Wide = typename Numeric<T>::Wide;
template <class T>
using Basic = typename Numeric<T>::Basic;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool kIsFloat = kIsHalf<T> || std::is_floating_point_v<T>;
template <class T>
inline constexpr bool kIsComplex = false;
template <class R>
inline constexpr bool kIsComplex<std::complex<R>> = true;
template <class T>
inline constexpr bool kIsBool = std::is_same_v<T, bool>;
template <class T>
inline constexpr bool kIsInt = std::is_integral_v<T> && !kIsBool<T>;

template <class W, class T>
W widen(T x) {
  if constexpr (kIsComplex<T>) {
    using R = typename W::value_type;
    return W(static_cast<R>(x.real()), static_cast<R>(x.imag()));
  } else if constexpr (kIsHalf<T>) {
    return static_cast<W>(static_cast<float>(x));
  } else {
    return static_cast<W>(x);
  }
}

template <class T, class W>
T narrow(W x) {
  if constexpr (kIsComplex<T>) {
    using R = typename T::value_type;
    return T(static_cast<R>(x.real()), static_cast<R>(x.imag()));
  } else {
    return static_cast<T>(x);
  }
}

// IEEE 754's totalOrder as an order of integers: -NaN < -inf < -0 < +0 < inf < NaN.
template <class T>
auto totalOrderKey(T x) {
  using S = std::conditional_t<sizeof(T) == 2, int16_t,
                               std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
  S bits = std::bit_cast<S>(x);
  return bits < 0 ? static_cast<S>(bits ^ std::numeric_limits<S>::max()) : bits;
}

}  // namespace tercel::eval
