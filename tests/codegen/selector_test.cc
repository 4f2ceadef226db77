// Who selects a kernel's instructions: LLVM writes its own IR down where it does.
#include <bit>

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

bool isSelectedByLlvm(const Kernel& kernel, const Target& target) {
  bool has_ir = false;
  CodegenOptions options{.verify = true};
  options.dump = [&](std::string_view stage, std::string_view) { has_ir |= stage == "llvm"; };
  const Kernel* kernels[] = {&kernel};
  EXPECT_TRUE(compileKernels(kernels, target, options).ok());
  return has_ir;
}

Kernel rowsOfVectors() {
  Kernel kernel{.name = "rows"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), out = b.addParam(Scalar::f32, false);
  V zero = b.number({Scalar::f32, 16}, 0);
  b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](V row) {
    V first = b.imul(row, b.index(100));
    Values sum = b.forLoop(b.index(0), b.index(96), 16, {&zero, 1},
                           [&](V i, std::span<const V> carried) {
      V v = b.load(x, b.iadd(first, i), 16);
      V positive = b.compare(Opcode::fcmp, Predicate::ogt, v, zero);
      return Values{b.fma(v, b.number({Scalar::f32, 16}, 0.5),
                          b.select(positive, carried[0], zero))};
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
  Values last = b.whileLoop({&start, 1},
                            [&](auto v) {
                              return b.compare(Opcode::icmp, Predicate::slt, v[0], b.taskEnd());
                            },
                            [&](auto v) { return Values{b.iadd(v[0], v[0])}; });
  b.store(out, b.index(0), last[0]);
  return kernel;
}

TEST(Selector, SelectsVectorsWithoutLlvm) {
  EXPECT_FALSE(isSelectedByLlvm(rowsOfVectors(), *Target::named("x86-64-v4")));
  EXPECT_FALSE(isSelectedByLlvm(rowsOfVectors(), *Target::named("sapphirerapids")));
}

TEST(Selector, LeavesOtherMachinesToLlvm) {
  EXPECT_TRUE(isSelectedByLlvm(rowsOfVectors(), *Target::named("x86-64-v3")));
  EXPECT_TRUE(isSelectedByLlvm(rowsOfVectors(), *Target::named("aarch64")));
}

TEST(Selector, LeavesWhatItLacksToLlvm) {
  EXPECT_TRUE(isSelectedByLlvm(whileLoop(), *Target::named("x86-64-v4")));
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
        b.store(out, i, up % 2 ? b.binary(Opcode::or_, high, low) : b.binary(Opcode::or_, low, high));
      });
      MachineCode code = compile(kernel);
      std::vector<T> values(kLanes), made(kLanes);
      for (int i = 0; i < kLanes; ++i) values[i] = static_cast<T>(0x9e3779b97f4a7c15 * (i + 1) >> 3);
      code({values.data(), made.data()}, 0, kLanes);
      for (int i = 0; i < kLanes; ++i) EXPECT_EQ(made[i], std::rotl(values[i], up)) << up << ' ' << i;
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
