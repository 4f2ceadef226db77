// Who selects a kernel's instructions: LLVM writes its own IR down where it does.
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
