#include "compiler/kernel/elem_math.h"

#include <bit>
#include <cmath>

#include "compiler/kernel/math/math.h"
#include "compiler/kernel/math_builder.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

using ir::OpKind;

template <class B>
V emitUnary(B& b, OpKind kind, V x) {
  switch (kind) {
    case OpKind::acos_: return math::acos(b, x);
    case OpKind::acosh_: return math::acosh(b, x);
    case OpKind::asin_: return math::asin(b, x);
    case OpKind::asinh_: return math::asinh(b, x);
    case OpKind::atan_: return math::atan(b, x);
    case OpKind::atanh_: return math::atanh(b, x);
    case OpKind::bessel_i0e_: return math::bessel_i0e(b, x);
    case OpKind::bessel_i1e_: return math::bessel_i1e(b, x);
    case OpKind::cbrt_: return math::cbrt(b, x);
    case OpKind::cosh_: return math::cosh(b, x);
    case OpKind::cosine_: return math::cosine(b, x);
    case OpKind::digamma_: return math::digamma(b, x);
    case OpKind::erf_: return math::erf(b, x);
    case OpKind::erf_inv_: return math::erf_inv(b, x);
    case OpKind::erfc_: return math::erfc(b, x);
    case OpKind::exp2_: return math::exp2(b, x);
    case OpKind::exponential_: return math::exponential(b, x);
    case OpKind::exponential_minus_one_: return math::exponential_minus_one(b, x);
    case OpKind::lgamma_: return math::lgamma(b, x);
    case OpKind::log_: return math::log(b, x);
    case OpKind::log_plus_one_: return math::log_plus_one(b, x);
    case OpKind::logistic_: return math::logistic(b, x);
    case OpKind::rsqrt_: return math::rsqrt(b, x);
    case OpKind::sine_: return math::sine(b, x);
    case OpKind::sinh_: return math::sinh(b, x);
    case OpKind::tan_: return math::tan(b, x);
    case OpKind::tanh_: return math::tanh(b, x);
    default: break;
  }
  TERCEL_CHECK(false, ir::opName(kind), " is not an elementwise op of real numbers");
  return {};
}

// 2^n, 0 <= n < 60, or 0 where y is none that is known.
template <class B>
double wholePowerOfTwo(const B& b, V y) {
  using Float = std::conditional_t<B::kBits == 64, double, float>;
  using Bits = std::conditional_t<B::kBits == 64, uint64_t, uint32_t>;
  uint64_t bits;
  if (!b.b.isConstant(y, &bits)) return 0;
  const double number = std::bit_cast<Float>(static_cast<Bits>(bits));
  int exponent;
  const bool is_power = std::frexp(number, &exponent) == 0.5;
  return is_power && number >= 1 && number < 0x1p60 ? number : 0;
}

template <class B>
V emitRemainder(B& b, V x, V y) {
  const double power = wholePowerOfTwo(b, y);
  if (power > 0) return math::remainderByPower(b, x, power);
  return math::remainder(b, x, y);
}

template <class B>
V emitAny(B&& b, OpKind kind, V x, V y) {
  switch (kind) {
    case OpKind::atan2_: return math::atan2(b, x, y);
    case OpKind::power_: return math::power(b, x, y);
    case OpKind::remainder_: return emitRemainder(b, x, y);
    default: return emitUnary(b, kind, x);
  }
}

// Whether as many lanes of f64 fill no more than a register.
bool areFew(const Builder& b, uint16_t lanes) {
  return lanes * byteSize(Scalar::f64) <= b.machine.vector_bytes;
}

V emitNarrowPower(Builder& b, V x, V y, uint16_t lanes) {
  MathBuilder<64> wide{b, lanes};
  V power = math::powerOfNarrow(wide, b.cast(Opcode::fpext, x, Scalar::f64),
                                b.cast(Opcode::fpext, y, Scalar::f64));
  return b.cast(Opcode::fptrunc, power, Scalar::f32);
}

}  // namespace

V emitMath(Builder& b, OpKind kind, V x, V y) {
  uint16_t lanes = b.type(x).lanes;
  if (y.valid()) {
    lanes = std::max(lanes, b.type(y).lanes);
    x = b.widen(x, lanes);
    y = b.widen(y, lanes);
  }
  if (kind == OpKind::power_ && b.type(x).scalar == Scalar::f32 && areFew(b, lanes))
    return emitNarrowPower(b, x, y, lanes);
  return b.type(x).scalar == Scalar::f64 ? emitAny(MathBuilder<64>{b, lanes}, kind, x, y)
                                         : emitAny(MathBuilder<32>{b, lanes}, kind, x, y);
}

}  // namespace tercel::kernel
