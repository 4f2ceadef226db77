#include <bit>
#include <cmath>

#include "compiler/eval/complex_math.h"
#include "compiler/eval/kernel.h"
#include "compiler/eval/special_math.h"

namespace tercel::eval {
namespace {

using ir::OpKind;

template <class T>
using Function1 = T (*)(T);

template <class R>
R signOf(R x) {
  return x > 0 ? R(1) : x < 0 ? R(-1) : x;  // NaN and both zeros are their own signs
}

// Correctly rounded or exact in the type given.
// clang-format off
template <class R>
Function1<R> basicFunction(OpKind kind) {
  switch (kind) {
    case OpKind::abs_: return [](R x) { return std::fabs(x); };
    case OpKind::ceil_: return [](R x) { return std::ceil(x); };
    case OpKind::floor_: return [](R x) { return std::floor(x); };
    case OpKind::negate_: return [](R x) { return -x; };
    case OpKind::real_: return [](R x) { return x; };
    case OpKind::imag_: return [](R) { return R(0); };
    case OpKind::round_nearest_afz_: return [](R x) { return std::round(x); };
    case OpKind::round_nearest_even_: return [](R x) { return std::nearbyint(x); };
    case OpKind::sign_: return [](R x) { return signOf(x); };
    case OpKind::sqrt_: return [](R x) { return std::sqrt(x); };
    default: return nullptr;
  }
}

template <class W>
Function1<W> realFunction(OpKind kind) {
  switch (kind) {
    case OpKind::acos_: return [](W x) { return std::acos(x); };
    case OpKind::acosh_: return [](W x) { return std::acosh(x); };
    case OpKind::asin_: return [](W x) { return std::asin(x); };
    case OpKind::asinh_: return [](W x) { return std::asinh(x); };
    case OpKind::atan_: return [](W x) { return std::atan(x); };
    case OpKind::atanh_: return [](W x) { return std::atanh(x); };
    case OpKind::bessel_i0e_: return [](W x) { return besselI0e(x); };
    case OpKind::bessel_i1e_: return [](W x) { return besselI1e(x); };
    case OpKind::cbrt_: return [](W x) { return std::cbrt(x); };
    case OpKind::cosh_: return [](W x) { return std::cosh(x); };
    case OpKind::cosine_: return [](W x) { return std::cos(x); };
    case OpKind::digamma_: return [](W x) { return digamma(x); };
    case OpKind::erf_: return [](W x) { return std::erf(x); };
    case OpKind::erf_inv_: return [](W x) { return erfInverse(x); };
    case OpKind::erfc_: return [](W x) { return std::erfc(x); };
    case OpKind::exp2_: return [](W x) { return std::exp2(x); };
    case OpKind::exponential_: return [](W x) { return std::exp(x); };
    case OpKind::exponential_minus_one_: return [](W x) { return std::expm1(x); };
    case OpKind::lgamma_: return [](W x) { return std::lgamma(x); };
    case OpKind::log_: return [](W x) { return std::log(x); };
    case OpKind::log_plus_one_: return [](W x) { return std::log1p(x); };
    case OpKind::logistic_: return [](W x) { return 1 / (1 + std::exp(-x)); };
    case OpKind::rsqrt_: return [](W x) { return 1 / std::sqrt(x); };
    case OpKind::sine_: return [](W x) { return std::sin(x); };
    case OpKind::sinh_: return [](W x) { return std::sinh(x); };
    case OpKind::tan_: return [](W x) { return std::tan(x); };
    case OpKind::tanh_: return [](W x) { return std::tanh(x); };
    default: return nullptr;
  }
}

// Infinitely far and without a direction.
template <class C>
bool isLost(C z) {
  return std::isinf(z.real()) && std::isinf(z.imag());
}

template <class C>
Function1<C> complexFunction(OpKind kind) {
  switch (kind) {
    case OpKind::atanh_: return [](C z) { return std::atanh(z); };
    case OpKind::cbrt_: return [](C z) { return cbrtComplex(z); };
    case OpKind::cosh_: return [](C z) { return isLost(z) ? C(NAN, NAN) : std::cosh(z); };
    case OpKind::cosine_: return [](C z) { return std::cos(z); };
    case OpKind::exponential_: return [](C z) { return expComplex(z); };
    case OpKind::exponential_minus_one_: return [](C z) { return expm1Complex(z); };
    case OpKind::log_: return [](C z) { return std::log(z); };
    case OpKind::log_plus_one_: return [](C z) { return log1pComplex(z); };
    case OpKind::logistic_: return [](C z) { return logisticComplex(z); };
    case OpKind::negate_: return [](C z) { return -z; };
    case OpKind::rsqrt_: return [](C z) { return C(1) / std::sqrt(z); };
    case OpKind::sign_: return [](C z) { return signComplex(z); };
    case OpKind::sine_: return [](C z) { return std::sin(z); };
    case OpKind::sinh_: return [](C z) { return isLost(z) ? C(NAN, NAN) : std::sinh(z); };
    case OpKind::sqrt_: return [](C z) { return std::sqrt(z); };
    case OpKind::tan_: return [](C z) { return tanComplex(z); };
    case OpKind::tanh_: return [](C z) { return tanhComplex(z); };
    default: return nullptr;
  }
}
// clang-format on

// Arithmetic wraps: it is done on 64 bits without sign and cut.
template <class T>
T wrap(uint64_t x) {
  return static_cast<T>(x);
}

// clang-format off
template <class T>
Function1<T> integerFunction(OpKind kind) {
  using U = std::make_unsigned_t<T>;
  switch (kind) {
    case OpKind::abs_: return [](T x) { return x < 0 ? wrap<T>(-uint64_t(x)) : x; };
    case OpKind::count_leading_zeros_: return [](T x) { return T(std::countl_zero(U(x))); };
    case OpKind::negate_: return [](T x) { return wrap<T>(-uint64_t(x)); };
    case OpKind::not_: return [](T x) { return T(~x); };
    case OpKind::popcnt_: return [](T x) { return T(std::popcount(U(x))); };
    case OpKind::sign_: return [](T x) { return signOf(x); };
    default: return nullptr;
  }
}
// clang-format on

template <class T, class W>
Kernel computedIn(Function1<W> f) {
  if (!f) return {};
  return loop1<T, T>([f](T x) { return narrow<T>(f(widen<W>(x))); });
}

template <class T>
Kernel complexToReal(OpKind kind) {
  using R = typename T::value_type;
  using W = Wide<R>;
  switch (kind) {
    case OpKind::abs_:
      return loop1<T, R>([](T z) { return R(std::hypot(W(z.real()), W(z.imag()))); });
    case OpKind::real_:
      return loop1<T, R>([](T z) { return z.real(); });
    case OpKind::imag_:
      return loop1<T, R>([](T z) { return z.imag(); });
    default:
      return {};
  }
}

template <class T>
Kernel floatKernel(OpKind kind) {
  if (kind == OpKind::is_finite_)
    return loop1<T, bool>([](T x) { return std::isfinite(widen<double>(x)); });
  if (Kernel basic = computedIn<T, Basic<T>>(basicFunction<Basic<T>>(kind))) return basic;
  return computedIn<T, Wide<T>>(realFunction<Wide<T>>(kind));
}

template <class T>
Kernel complexKernel(OpKind kind) {
  if (Kernel real = complexToReal<T>(kind)) return real;
  return computedIn<T, Wide<T>>(complexFunction<Wide<T>>(kind));
}

}  // namespace

Kernel unaryKernel(const KernelRequest& request) {
  OpKind kind = request.op.kind;
  return visitDType(request.operands[0], [&]<class T>() -> Kernel {
    if constexpr (kIsBool<T>) {
      if (kind != OpKind::not_) return {};
      return loop1<T, T>([](T x) { return !x; });
    } else if constexpr (kIsInt<T>) {
      return computedIn<T, T>(integerFunction<T>(kind));
    } else if constexpr (kIsFloat<T>) {
      return floatKernel<T>(kind);
    } else {
      return complexKernel<T>(kind);
    }
  });
}

}  // namespace tercel::eval
