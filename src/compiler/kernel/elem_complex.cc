#include "compiler/kernel/elem.h"
#include "compiler/kernel/math/complex_functions.h"
#include "compiler/kernel/math_builder.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::OpKind;

template <class B>
Elem elemOf(math::ComplexValue<B> z) {
  return {z.re, z.im};
}

template <class B>
Elem emitFunction(B&& builder, OpKind kind, const Elem& x, const Elem& y) {
  using Plain = std::remove_reference_t<B>;
  Plain& b = builder;
  math::ComplexValue<Plain> z{x.re, x.im}, w{y.re, y.im};
  switch (kind) {
    case OpKind::abs_: return {math::abs(b, z), {}};
    case OpKind::atan2_: return elemOf(math::atan2(b, z, w));
    case OpKind::atanh_: return elemOf(math::atanh(b, z));
    case OpKind::cbrt_: return elemOf(math::cbrt(b, z));
    case OpKind::cosh_: return elemOf(math::cosh(b, z));
    case OpKind::cosine_: return elemOf(math::cosine(b, z));
    case OpKind::divide_: return elemOf(math::divide(b, z, w));
    case OpKind::exponential_: return elemOf(math::exponential(b, z));
    case OpKind::exponential_minus_one_: return elemOf(math::exponential_minus_one(b, z));
    case OpKind::log_: return elemOf(math::log(b, z));
    case OpKind::log_plus_one_: return elemOf(math::log_plus_one(b, z));
    case OpKind::logistic_: return elemOf(math::logistic(b, z));
    case OpKind::multiply_: return elemOf(math::multiply(b, z, w));
    case OpKind::power_: return elemOf(math::power(b, z, w));
    case OpKind::rsqrt_: return elemOf(math::rsqrt(b, z));
    case OpKind::sign_: return elemOf(math::sign(b, z));
    case OpKind::sine_: return elemOf(math::sine(b, z));
    case OpKind::sinh_: return elemOf(math::sinh(b, z));
    case OpKind::sqrt_: return elemOf(math::sqrt(b, z));
    case OpKind::tan_: return elemOf(math::tan(b, z));
    case OpKind::tanh_: return elemOf(math::tanh(b, z));
    default: break;
  }
  TERCEL_CHECK(false, ir::opName(kind), " of complex numbers");
  return {};
}

Elem emitCompare(Builder& b, const ir::Op& op, const Elem& x, const Elem& y) {
  bool equal = op.symbol(AttrKey::comparison_direction) == "EQ";
  Predicate p = equal ? Predicate::oeq : Predicate::une;
  return {b.binary(equal ? Opcode::and_ : Opcode::or_, b.compare(Opcode::fcmp, p, x.re, y.re),
                   b.compare(Opcode::fcmp, p, x.im, y.im)),
          {}};
}

// By the real part, then by the imaginary one.
V emitLess(Builder& b, const Elem& x, const Elem& y) {
  V tie = b.binary(Opcode::and_, b.compare(Opcode::fcmp, Predicate::oeq, x.re, y.re),
                   b.compare(Opcode::fcmp, Predicate::olt, x.im, y.im));
  return b.binary(Opcode::or_, b.compare(Opcode::fcmp, Predicate::olt, x.re, y.re), tie);
}

Elem emitMaximum(Builder& b, const Elem& x, const Elem& y) {
  return elemSelect(b, emitLess(b, y, x), x, y);
}

Elem emitMinimum(Builder& b, const Elem& x, const Elem& y) {
  return elemSelect(b, emitLess(b, x, y), x, y);
}

}  // namespace

Elem emitComplex(Builder& b, const ir::Op& op, DType in, DType, std::span<const Elem> args) {
  Elem x = args[0], y = args.size() > 1 ? args[1] : Elem{};
  switch (op.kind) {
    case OpKind::real_: return {x.re, {}};
    case OpKind::imag_: return {x.im, {}};
    case OpKind::negate_: return {b.unary(Opcode::fneg, x.re), b.unary(Opcode::fneg, x.im)};
    case OpKind::add_: return {b.fadd(x.re, y.re), b.fadd(x.im, y.im)};
    case OpKind::subtract_:
      return {b.binary(Opcode::fsub, x.re, y.re), b.binary(Opcode::fsub, x.im, y.im)};
    case OpKind::compare_: return emitCompare(b, op, x, y);
    case OpKind::maximum_: return emitMaximum(b, x, y);
    case OpKind::minimum_: return emitMinimum(b, x, y);
    case OpKind::clamp_: return emitMinimum(b, args[2], emitMaximum(b, x, y));
    default: break;
  }
  uint16_t lanes = b.type(x.re).lanes;
  if (y.re.valid()) lanes = std::max(lanes, b.type(y.re).lanes);
  x = elemWiden(b, x, lanes);
  if (y.re.valid()) y = elemWiden(b, y, lanes);
  return in == DType::c128 ? emitFunction(MathBuilder<64>{b, lanes}, op.kind, x, y)
                           : emitFunction(MathBuilder<32>{b, lanes}, op.kind, x, y);
}

}  // namespace tercel::kernel
