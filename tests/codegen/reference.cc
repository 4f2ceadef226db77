#include "reference.h"

#include <bit>
#include <cmath>

#include "core/status.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;

namespace {

uint64_t maskOf(Scalar s) {
  return kernel::bitWidth(s) == 64 ? ~uint64_t{0} : (uint64_t{1} << kernel::bitWidth(s)) - 1;
}
int64_t signedOf(uint64_t bits, Scalar s) {
  int shift = 64 - kernel::bitWidth(s);
  return static_cast<int64_t>(bits << shift) >> shift;
}
double numberOf(uint64_t bits, Scalar s) {
  switch (s) {
    case Scalar::f16: return halfToFloat(static_cast<uint16_t>(bits));
    case Scalar::bf16: return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    case Scalar::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default: return std::bit_cast<double>(bits);
  }
}
uint64_t bitsOf(double v, Scalar s) {
  switch (s) {
    case Scalar::f16: return doubleToHalf(v);
    case Scalar::bf16: return doubleToBFloat16(v);
    case Scalar::f32: return std::bit_cast<uint32_t>(static_cast<float>(v));
    default: return std::bit_cast<uint64_t>(v);
  }
}

bool compareIntegers(Predicate p, uint64_t a, uint64_t b, Scalar s) {
  int64_t x = signedOf(a, s), y = signedOf(b, s);
  switch (p) {
    case Predicate::eq: return a == b;
    case Predicate::ne: return a != b;
    case Predicate::slt: return x < y;
    case Predicate::sle: return x <= y;
    case Predicate::sgt: return x > y;
    case Predicate::sge: return x >= y;
    case Predicate::ult: return a < b;
    case Predicate::ule: return a <= b;
    case Predicate::ugt: return a > b;
    default: return a >= b;
  }
}

bool compareFloats(Predicate p, double x, double y) {
  bool nan = std::isnan(x) || std::isnan(y);
  switch (p) {
    case Predicate::oeq: return x == y;
    case Predicate::one: return !nan && x != y;
    case Predicate::olt: return x < y;
    case Predicate::ole: return x <= y;
    case Predicate::ogt: return x > y;
    case Predicate::oge: return x >= y;
    case Predicate::ord: return !nan;
    case Predicate::uno: return nan;
    case Predicate::ueq: return nan || x == y;
    case Predicate::une: return x != y;
    case Predicate::fult: return nan || x < y;
    case Predicate::fule: return nan || x <= y;
    case Predicate::fugt: return nan || x > y;
    default: return nan || x >= y;
  }
}

uint64_t integerOp(Opcode op, Scalar s, uint64_t a, uint64_t b) {
  int64_t x = signedOf(a, s), y = signedOf(b, s);
  int width = kernel::bitWidth(s);
  switch (op) {
    case Opcode::iadd: return a + b;
    case Opcode::isub: return a - b;
    case Opcode::imul: return a * b;
    case Opcode::umulh:
      return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> width);
    case Opcode::sdiv: return static_cast<uint64_t>(x / y);
    case Opcode::udiv: return a / b;
    case Opcode::srem: return static_cast<uint64_t>(x % y);
    case Opcode::urem: return a % b;
    case Opcode::and_: return a & b;
    case Opcode::or_: return a | b;
    case Opcode::xor_: return a ^ b;
    case Opcode::shl: return a << b;
    case Opcode::lshr: return a >> b;
    case Opcode::ashr: return static_cast<uint64_t>(x >> b);
    case Opcode::smin: return x < y ? a : b;
    case Opcode::smax: return x > y ? a : b;
    case Opcode::umin: return a < b ? a : b;
    case Opcode::umax: return a > b ? a : b;
    case Opcode::clz: return static_cast<uint64_t>(std::countl_zero(a) - (64 - width));
    case Opcode::popcnt: return static_cast<uint64_t>(std::popcount(a));
    default: TERCEL_CHECK(false, kernel::opcodeName(op));
  }
  return 0;
}

// c + the products of the parts of so many bits; a's are signed or not, b's are.
uint64_t dotOfParts(uint64_t a, uint64_t b, uint64_t c, int width, bool is_signed) {
  Scalar part = width == 16 ? Scalar::i16 : Scalar::i8;
  for (int shift = 0; shift < 32; shift += width) {
    uint64_t x = a >> shift & maskOf(part);
    int64_t left = is_signed ? signedOf(x, part) : static_cast<int64_t>(x);
    c += static_cast<uint64_t>(left * signedOf(b >> shift & maskOf(part), part));
  }
  return c;
}

template <class F>
F floatOp(Opcode op, F a, F b, F c) {
  switch (op) {
    case Opcode::fadd: return a + b;
    case Opcode::fsub: return a - b;
    case Opcode::fmul: return a * b;
    case Opcode::fdiv: return a / b;
    case Opcode::fma: return std::fma(a, b, c);
    case Opcode::scalb: return std::ldexp(a, static_cast<int>(b));
    case Opcode::fsqrt: return std::sqrt(a);
    case Opcode::fmin: return a < b ? a : b;
    case Opcode::fmax: return a > b ? a : b;
    case Opcode::fminimum:
    case Opcode::fmaximum: {
      if (std::isnan(a) || std::isnan(b)) return NAN;
      bool takes_a = a == b ? std::signbit(a) == (op == Opcode::fminimum)
                            : (a < b) == (op == Opcode::fminimum);
      return takes_a ? a : b;
    }
    case Opcode::floor: return std::floor(a);
    case Opcode::ceil: return std::ceil(a);
    case Opcode::trunc_int: return std::trunc(a);
    case Opcode::round_even: return std::nearbyint(a);
    default: TERCEL_CHECK(false, kernel::opcodeName(op));
  }
  return 0;
}

uint64_t convert(Opcode op, Scalar from, Scalar to, uint64_t a) {
  switch (op) {
    case Opcode::zext: case Opcode::itrunc: case Opcode::bitcast: return a;
    case Opcode::sext: return static_cast<uint64_t>(signedOf(a, from));
    case Opcode::fpext: case Opcode::fptrunc: return bitsOf(numberOf(a, from), to);
    case Opcode::sitofp:
      return to == Scalar::f32
                 ? std::bit_cast<uint32_t>(static_cast<float>(signedOf(a, from)))
                 : std::bit_cast<uint64_t>(static_cast<double>(signedOf(a, from)));
    case Opcode::uitofp:
      return to == Scalar::f32 ? std::bit_cast<uint32_t>(static_cast<float>(a))
                               : std::bit_cast<uint64_t>(static_cast<double>(a));
    case Opcode::fptosi: return static_cast<uint64_t>(static_cast<int64_t>(numberOf(a, from)));
    default: return static_cast<uint64_t>(numberOf(a, from));
  }
}

}  // namespace

bool isNan(uint64_t bits, Scalar s) {
  return kernel::isFloat(s) && std::isnan(numberOf(bits, s));
}

uint64_t reference(Opcode op, int64_t imm, Scalar from, Scalar to,
                   std::span<const uint64_t> operands) {
  uint64_t a = operands[0], b = operands.size() > 1 ? operands[1] : 0;
  uint64_t c = operands.size() > 2 ? operands[2] : 0;
  auto predicate = static_cast<Predicate>(imm);
  if (op >= Opcode::zext && op <= Opcode::bitcast) return convert(op, from, to, a) & maskOf(to);
  if (op == Opcode::icmp) return compareIntegers(predicate, a, b, from);
  if (op == Opcode::fcmp) return compareFloats(predicate, numberOf(a, from), numberOf(b, from));
  uint64_t sign = uint64_t{1} << (kernel::bitWidth(from) - 1);
  if (op == Opcode::fneg) return a ^ sign;
  if (op == Opcode::fabs) return a & ~sign;
  if (from == Scalar::f32) {
    auto f = [](uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); };
    return std::bit_cast<uint32_t>(floatOp(op, f(a), f(b), f(c)));
  }
  if (from == Scalar::f64)
    return std::bit_cast<uint64_t>(floatOp(op, std::bit_cast<double>(a), std::bit_cast<double>(b),
                                           std::bit_cast<double>(c)));
  if (from == Scalar::f16)
    return doubleToHalf(floatOp(op, numberOf(a, from), numberOf(b, from), numberOf(c, from)));
  if (op == Opcode::dot_s16) return dotOfParts(a, b, c, 16, true) & maskOf(to);
  if (op == Opcode::dot_u8s8) return dotOfParts(a, b, c, 8, false) & maskOf(to);
  return integerOp(op, from, a, b) & maskOf(to);
}

}  // namespace tercel::codegen
