#include "compiler/kernel/elem_tiny.h"

#include <algorithm>
#include <array>
#include <functional>

#include "compiler/kernel/float_bits.h"
#include "compiler/kernel/lane_fold.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

constexpr int kBias = 127;
constexpr int64_t kVectorBytes = 64;

V halfOf(Builder& b, V x, bool second) {
  const int lanes = b.type(x).lanes;
  return b.shuffle(x, x, halves(lanes, lanes, second, false));
}

// Lanes whose magnitude is less than `least` or subnormal, but not 0.
V isTiny(Builder& b, V size, V least) {
  least = b.binary(Opcode::smax, least, exponent(b, least, 1));
  V some = b.compare(Opcode::icmp, Predicate::ne, size, b.integer(b.type(size), 0));
  return b.binary(Opcode::and_, b.compare(Opcode::icmp, Predicate::slt, size, least), some);
}

// Of smaller ones the quotient by y may be subnormal.
V leastDividend(Builder& b, V y) {
  V size = magnitudeOf(b, y);
  return b.iadd(size, exponent(b, size, -(kBias - 2)));
}

// `op` of the first argument and the others, in lanes that are tiny by way of f64.
using Arithmetic = std::function<V(V x, std::span<const V> rest, bool in_doubles)>;
V lookAt(Builder& b, const char* name, V tiny, V x, std::span<const V> rest, const Arithmetic& op) {
  const Type type = b.type(x);
  SmallVector<V, 4> args{op(b.select(tiny, b.number(type, 1), x), rest, false), x};
  for (V v : rest) args.push_back(b.widen(v, type.lanes));
  const SmallVector<Type, 4> types(args.size(), type);
  const FunctionId function =
      b.function(cat(name, '.', toString(type)), types,
                 [&](std::span<const V> v) { return op(v[1], v.subspan(2), true); });
  return b.rarely(b.any(tiny), function, args);
}

}  // namespace

V inDoubles(Builder& b, Opcode op, V x, V y) {
  const int lanes = b.type(x).lanes;
  if (lanes * byteSize(Scalar::f64) <= kVectorBytes) {
    V wide = b.binary(op, b.cast(Opcode::fpext, x, Scalar::f64),
                      b.cast(Opcode::fpext, y, Scalar::f64));
    return b.cast(Opcode::fptrunc, wide, Scalar::f32);
  }
  V low = inDoubles(b, op, halfOf(b, x, false), halfOf(b, y, false));
  V high = inDoubles(b, op, halfOf(b, x, true), halfOf(b, y, true));
  SmallVector<int16_t, 16> all;
  for (int i = 0; i < lanes; ++i) all.push_back(static_cast<int16_t>(i));
  return b.shuffle(low, high, all);
}

V multiplyInDoubles(Builder& b, V x, V y) {
  const int lanes = std::max(b.type(x).lanes, b.type(y).lanes);
  return inDoubles(b, Opcode::fmul, b.widen(x, lanes), b.widen(y, lanes));
}

bool looksForTiny(const Builder& b, V x) {
  const Type type = b.type(x);
  return b.machine.slow_subnormals && type.scalar == Scalar::f32 &&
         type.lanes * byteSize(type.scalar) >= kVectorBytes;
}

// The bits of a float are about its logarithm, so that those of a product are about a sum.
V multiplyLooking(Builder& b, V x, V y, V sum) {
  V size = magnitudeOf(b, y);
  V least = b.isub(exponent(b, size, 2 * kBias - (kBias - 2)), size);
  V tiny = isTiny(b, magnitudeOf(b, x), least);
  if (!sum.valid())
    return lookAt(b, "multiply", tiny, x, std::array{y}, [&](V v, auto rest, bool in_doubles) {
      return in_doubles ? inDoubles(b, Opcode::fmul, v, rest[0]) : b.fmul(v, rest[0]);
    });
  return lookAt(b, "multiply_add", tiny, x, std::array{y, sum},
                [&](V v, auto rest, bool in_doubles) {
    return in_doubles ? b.fadd(inDoubles(b, Opcode::fmul, v, rest[0]), rest[1])
                      : b.fmuladd(v, rest[0], rest[1]);
  });
}

V divideLooking(Builder& b, V x, V y) {
  V tiny = isTiny(b, magnitudeOf(b, x), leastDividend(b, y));
  return lookAt(b, "divide", tiny, x, std::array{y}, [&](V v, auto rest, bool in_doubles) {
    return in_doubles ? inDoubles(b, Opcode::fdiv, v, rest[0])
                      : b.binary(Opcode::fdiv, v, rest[0]);
  });
}

V divideBranching(Builder& b, V x, V y) {
  if (b.type(x).scalar != Scalar::f32) return b.binary(Opcode::fdiv, x, y);
  V tiny = isTiny(b, magnitudeOf(b, x), leastDividend(b, y));
  return b.ifElse(b.any(tiny), [&] { return Builder::Values{inDoubles(b, Opcode::fdiv, x, y)}; },
                  [&] { return Builder::Values{b.binary(Opcode::fdiv, x, y)}; }, true)[0];
}

}  // namespace tercel::kernel
