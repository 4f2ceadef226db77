// Who selects a kernel's instructions, and what the selector makes of control and of single numbers.
#include <bit>
#include <cmath>
#include <limits>

#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;
using kernel::V;
using Values = Builder::Values;

Kernel rowsOfVectors() {
  Kernel kernel{.name = "rows"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  V zero = b.number({Scalar::f32, 16}, 0);
  b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](V row) {
    V first = b.imul(row, b.index(100));
    Values sum =
        b.forLoop(b.index(0), b.index(96), 16, {&zero, 1}, [&](V i, std::span<const V> carried) {
          V v = b.load(x, b.iadd(first, i), 16);
          V positive = b.compare(Opcode::fcmp, Predicate::ogt, v, zero);
          return Values{
              b.fma(v, b.number({Scalar::f32, 16}, 0.5), b.select(positive, carried[0], zero))};
        });
    b.store(out, b.imul(row, b.index(16)), sum[0]);
  });
  return kernel;
}

Kernel whileLoop() {
  Kernel kernel{.name = "until"};
  Builder b(kernel);
  auto out = b.addParam(Scalar::i64, false);
  V start = b.index(1);
  Values last = b.whileLoop(
      {&start, 1},
      [&](auto v) { return b.compare(Opcode::icmp, Predicate::slt, v[0], b.taskEnd()); },
      [&](auto v) { return Values{b.iadd(v[0], v[0])}; });
  b.store(out, b.index(0), last[0]);
  return kernel;
}

TEST(Selector, SelectsVectorsWithoutLlvm) {
  EXPECT_FALSE(usesLlvm(rowsOfVectors(), *Target::named("x86-64-v4")));
  EXPECT_FALSE(usesLlvm(rowsOfVectors(), *Target::named("sapphirerapids")));
}

TEST(Selector, LeavesOtherMachinesToLlvm) {
  EXPECT_TRUE(usesLlvm(rowsOfVectors(), *Target::named("x86-64-v3")));
  EXPECT_TRUE(usesLlvm(rowsOfVectors(), *Target::named("aarch64")));
}

Kernel quotient() {
  Kernel kernel{.name = "quotient"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::i64, true), out = b.addParam(Scalar::i64, false);
  b.store(out, b.index(0),
          b.binary(Opcode::udiv, b.load(x, b.index(0), 1), b.load(x, b.index(1), 1)));
  return kernel;
}

TEST(Selector, LeavesWhatItLacksToLlvm) {
  EXPECT_TRUE(usesLlvm(quotient(), *Target::named("x86-64-v4")));
}

TEST(Selector, RepeatsWhile) {
  EXPECT_FALSE(usesLlvm(whileLoop(), *Target::named("x86-64-v4")));
  MachineCode code = compile(whileLoop());
  for (auto [end, last] : {std::pair{0, 1}, {1, 1}, {2, 2}, {1000, 1024}}) {
    int64_t out = 0;
    code({&out}, 0, end);
    EXPECT_EQ(out, last);
  }
}

template <class T>
bool holds(Predicate p, T x, T y) {
  const bool unordered = std::isnan(x) || std::isnan(y);
  switch (p) {
    case Predicate::oeq:
      return x == y;
    case Predicate::one:
      return x < y || x > y;
    case Predicate::olt:
      return x < y;
    case Predicate::ole:
      return x <= y;
    case Predicate::ogt:
      return x > y;
    case Predicate::oge:
      return x >= y;
    case Predicate::ord:
      return !unordered;
    case Predicate::uno:
      return unordered;
    case Predicate::ueq:
      return unordered || x == y;
    case Predicate::une:
      return !(x == y);
    case Predicate::fult:
      return unordered || x < y;
    case Predicate::fule:
      return unordered || x <= y;
    case Predicate::fugt:
      return unordered || x > y;
    default:
      return unordered || x >= y;
  }
}

// What is chosen by comparisons of single numbers, by masks and by flags.
template <class T>
void checkChoices(Scalar scalar) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> numbers = {-1, -0.0, 0, 1, kNan};
  for (auto p = Predicate::oeq; p <= Predicate::fuge;
       p = static_cast<Predicate>(static_cast<int>(p) + 1)) {
    Kernel kernel{.name = "choose"};
    Builder b(kernel);
    auto x = b.addParam(scalar, true), y = b.addParam(scalar, true);
    auto out = b.addParam(scalar, false);
    const V yes = b.number({scalar, 1}, 1), no = b.number({scalar, 1}, 2);
    b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](V i) {
      const V a = b.load(x, i, 1), c = b.load(y, i, 1);
      const V holds = b.compare(Opcode::fcmp, p, a, c);
      const V negative = b.compare(Opcode::fcmp, Predicate::olt, a, b.number({scalar, 1}, 0));
      const V conditions[] = {holds, b.binary(Opcode::and_, holds, negative),
                              b.binary(Opcode::or_, holds, negative),
                              b.binary(Opcode::xor_, holds, b.constant(b.type(holds), 1))};
      for (int k = 0; k < 4; ++k)
        b.store(out, b.iadd(b.imul(i, b.index(5)), b.index(k)), b.select(conditions[k], yes, no));
      const V word =
          b.select(holds, b.integer({Scalar::i32, 1}, 1), b.integer({Scalar::i32, 1}, 2));
      b.store(out, b.iadd(b.imul(i, b.index(5)), b.index(4)), b.cast(Opcode::sitofp, word, scalar));
    });
    EXPECT_FALSE(usesLlvm(kernel, *Target::named("x86-64-v4")));
    MachineCode code = compile(kernel);
    std::vector<T> xs, ys;
    for (T a : numbers)
      for (T c : numbers) xs.push_back(a), ys.push_back(c);
    std::vector<T> made(5 * xs.size());
    code({xs.data(), ys.data(), made.data()}, 0, static_cast<int64_t>(xs.size()));
    for (size_t i = 0; i < xs.size(); ++i) {
      const bool h = holds(p, xs[i], ys[i]), negative = xs[i] < 0;
      const bool want[] = {h, h && negative, h || negative, !h, h};
      for (int k = 0; k < 5; ++k)
        EXPECT_EQ(made[5 * i + k], want[k] ? 1 : 2)
            << predicateName(p) << ' ' << xs[i] << ' ' << ys[i] << ' ' << k;
    }
  }
}

TEST(Selector, ChoosesNumbers) {
  checkChoices<float>(Scalar::f32);
  checkChoices<double>(Scalar::f64);
}

// Integers made of the bits of floats, and of others, and floats of them.
template <class T, class I>
void checkBits(Scalar scalar, Scalar integer) {
  constexpr int kWidth = 8 * sizeof(T);
  Kernel kernel{.name = "bits"};
  Builder b(kernel);
  auto x = b.addParam(scalar, true), n = b.addParam(integer, true);
  auto out = b.addParam(scalar, false), words = b.addParam(integer, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](V i) {
    const V bits = b.cast(Opcode::bitcast, b.load(x, i, 1), integer);
    const V sign =
        b.binary(Opcode::and_, bits, b.integer({integer, 1}, int64_t{1} << (kWidth - 1)));
    const V moved = b.binary(Opcode::lshr, b.binary(Opcode::shl, bits, b.integer({integer, 1}, 3)),
                             b.integer({integer, 1}, 5));
    const V joined = b.binary(Opcode::xor_, b.iadd(moved, b.load(n, i, 1)), sign);
    b.store(out, i, b.cast(Opcode::bitcast, joined, scalar));
    b.store(words, i, joined);
  });
  EXPECT_FALSE(usesLlvm(kernel, *Target::named("x86-64-v4")));
  MachineCode code = compile(kernel);
  std::vector<T> xs = {1, -2.5, 0, -0.0, 1e30};
  std::vector<I> ns = {1, 7, 1000, I(-1), 1 << 20};
  std::vector<T> floats(5);
  std::vector<I> made(5);
  code({xs.data(), ns.data(), floats.data(), made.data()}, 0, 5);
  for (size_t i = 0; i < 5; ++i) {
    const I bits = std::bit_cast<I>(xs[i]);
    const I want = (I(I(bits << 3) >> 5) + ns[i]) ^ (bits & (I{1} << (kWidth - 1)));
    EXPECT_EQ(std::bit_cast<I>(floats[i]), want);
    EXPECT_EQ(made[i], want);
  }
}

TEST(Selector, ComputesBitsOfFloats) {
  checkBits<float, uint32_t>(Scalar::f32, Scalar::i32);
  checkBits<double, uint64_t>(Scalar::f64, Scalar::i64);
}

template <class T>
void checkRotations(Scalar scalar) {
  constexpr int kLanes = 64 / sizeof(T), kWidth = 8 * sizeof(T);
  for (int lanes : {1, kLanes})
    for (int up = 1; up < kWidth; up += 5) {
      Kernel kernel{.name = "rotate"};
      Builder b(kernel);
      auto x = b.addParam(scalar, true), out = b.addParam(scalar, false);
      const kernel::Type type{scalar, static_cast<uint16_t>(lanes)};
      b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
        V v = b.load(x, i, lanes);
        V high = b.binary(Opcode::shl, v, b.integer(type, up));
        V low = b.binary(Opcode::lshr, v, b.integer(type, kWidth - up));
        b.store(out, i,
                up % 2 ? b.binary(Opcode::or_, high, low) : b.binary(Opcode::or_, low, high));
      });
      MachineCode code = compile(kernel);
      std::vector<T> values(kLanes), made(kLanes);
      for (int i = 0; i < kLanes; ++i)
        values[i] = static_cast<T>(0x9e3779b97f4a7c15 * (i + 1) >> 3);
      code({values.data(), made.data()}, 0, kLanes);
      for (int i = 0; i < kLanes; ++i)
        EXPECT_EQ(made[i], std::rotl(values[i], up)) << up << ' ' << i;
    }
}

TEST(Selector, Rotates) {
  checkRotations<uint32_t>(Scalar::i32);
  checkRotations<uint64_t>(Scalar::i64);
}

TEST(Selector, ComputesRows) {
  MachineCode code = compile(rowsOfVectors());
  std::vector<float> x(200), out(32);
  for (int i = 0; i < 200; ++i) x[i] = static_cast<float>(i % 7 - 3);
  code({x.data(), out.data()}, 0, 2);
  for (int row = 0; row < 2; ++row)
    for (int lane = 0; lane < 16; ++lane) {
      float sum = 0;
      for (int i = lane; i < 96; i += 16) {
        float v = x[row * 100 + i];
        sum = v * 0.5f + (v > 0 ? sum : 0);
      }
      EXPECT_EQ(out[row * 16 + lane], sum) << row << ' ' << lane;
    }
}

}  // namespace
}  // namespace tercel::codegen
