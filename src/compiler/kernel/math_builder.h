// The vector math templates' builder (math/builder.h) over kernel values.
#pragma once
#include <algorithm>
#include <array>
#include <bit>

#include "compiler/kernel/builder.h"
#include "core/status.h"

namespace tercel::kernel {

template <int Bits>
struct MathBuilder {
  using V = kernel::V;
  using I = kernel::V;
  using M = kernel::V;
  static constexpr int kBits = Bits;
  static constexpr Scalar kFloat = Bits == 32 ? Scalar::f32 : Scalar::f64;
  static constexpr Scalar kInt = Bits == 32 ? Scalar::i32 : Scalar::i64;

  Builder& b;
  uint16_t lanes;

  V constant(double x) { return b.number({kFloat, lanes}, x); }
  V add(V x, V y) { return b.binary(Opcode::fadd, x, y); }
  V sub(V x, V y) { return b.binary(Opcode::fsub, x, y); }
  V mul(V x, V y) { return b.binary(Opcode::fmul, x, y); }
  V div(V x, V y) { return b.binary(Opcode::fdiv, x, y); }
  V fma(V x, V y, V z) { return b.fma(x, y, z); }
  V neg(V x) { return b.unary(Opcode::fneg, x); }
  bool hasScalb() const { return b.machine.has_scalb; }
  bool hasQuickSubnormals() const { return !b.machine.slow_subnormals; }
  bool isScalar() const { return lanes == 1; }
  V scalb(V x, V k) { return b.binary(Opcode::scalb, x, k); }
  V abs(V x) { return b.unary(Opcode::fabs, x); }
  V sqrt(V x) { return b.unary(Opcode::fsqrt, x); }
  bool hasRsqrt14() const { return b.machine.has_rsqrt14 && lanes * Bits >= 128; }
  V rsqrt14(V x) { return b.unary(Opcode::rsqrt14, x); }
  V trunc(V x) { return b.unary(Opcode::trunc_int, x); }
  V floor(V x) { return b.unary(Opcode::floor, x); }
  V min(V x, V y) { return b.binary(Opcode::fmin, x, y); }
  V max(V x, V y) { return b.binary(Opcode::fmax, x, y); }
  V select(M m, V x, V y) { return b.select(m, x, y); }
  V fromBits(I i) { return b.cast(Opcode::bitcast, i, kFloat); }
  V fromInt(I i) { return b.cast(Opcode::sitofp, i, kFloat); }

  M lt(V x, V y) { return b.compare(Opcode::fcmp, Predicate::olt, x, y); }
  M le(V x, V y) { return b.compare(Opcode::fcmp, Predicate::ole, x, y); }
  M eq(V x, V y) { return b.compare(Opcode::fcmp, Predicate::oeq, x, y); }
  M ne(V x, V y) { return b.compare(Opcode::fcmp, Predicate::une, x, y); }
  M ieq(I x, I y) { return b.compare(Opcode::icmp, Predicate::eq, x, y); }
  M ilt(I x, I y) { return b.compare(Opcode::icmp, Predicate::slt, x, y); }
  M maskAnd(M x, M y) { return b.binary(Opcode::and_, x, y); }
  M maskOr(M x, M y) { return b.binary(Opcode::or_, x, y); }
  M maskNot(M x) { return b.binary(Opcode::xor_, x, b.constant(b.type(x), 1)); }

  template <size_t n, class F>
  V rarely(const char* name, M m, const std::array<V, n>& args, F&& f) {
    SmallVector<Type, 8> types(n, {kFloat, lanes});
    auto body = [&](std::span<const V> v) {
      std::array<V, n> values;
      std::ranges::copy(v, values.begin());
      return f(values);
    };
    return b.rarely(b.any(m), b.function(cat(name, '.', toString(types[0])), types, body), args);
  }
  template <class Cond, class Body>
  V repeatWhile(int, V v, Cond&& cond, Body&& body) {
    auto goes_on = [&](std::span<const V> now) { return b.any(cond(now[0])); };
    auto step = [&](std::span<const V> now) {
      return Builder::Values{b.select(cond(now[0]), body(now[0]), now[0])};
    };
    return b.whileLoop(std::array{v}, goes_on, step)[0];
  }

  I constantInt(int64_t x) { return b.integer({kInt, lanes}, x); }
  I bitsOf(V x) { return b.cast(Opcode::bitcast, x, kInt); }
  I iselect(M m, I x, I y) { return b.select(m, x, y); }
  I iadd(I x, I y) { return b.iadd(x, y); }
  I isub(I x, I y) { return b.isub(x, y); }
  I imul(I x, I y) { return b.imul(x, y); }
  I umulh(I x, I y) { return b.binary(Opcode::umulh, x, y); }
  I iand(I x, I y) { return b.binary(Opcode::and_, x, y); }
  I ior(I x, I y) { return b.binary(Opcode::or_, x, y); }
  I ixor(I x, I y) { return b.binary(Opcode::xor_, x, y); }
  I shl(I x, I y) { return b.binary(Opcode::shl, x, y); }
  I lshr(I x, I y) { return b.binary(Opcode::lshr, x, y); }
  I ashr(I x, I y) { return b.binary(Opcode::ashr, x, y); }
};

}  // namespace tercel::kernel
