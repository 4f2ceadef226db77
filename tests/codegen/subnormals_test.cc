// Whether arithmetic met subnormal numbers.
#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Scalar;
using kernel::V;

// out[i]: whether products of x before the i-th met some. They are forgotten at first.
Kernel products() {
  Kernel kernel{.name = "products"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), y = b.addParam(Scalar::f32, false);
  auto out = b.addParam(Scalar::i32, false);
  b.forgetSubnormals();
  b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](V i) {
    V one = b.integer({Scalar::i32, 1}, 1), none = b.integer({Scalar::i32, 1}, 0);
    b.store(out, i, b.select(b.metSubnormals(), one, none));
    V number = b.load(x, i, 1);
    b.store(y, i, b.fmul(number, b.number(b.type(number), 0x1p-20)));
  });
  return kernel;
}

TEST(Subnormals, AreMetAndForgotten) {
  std::vector<float> x{1, 0, 0x1p-100f, 0x1p-130f, 1, 1}, y(x.size());
  const std::vector<int32_t> wanted{0, 0, 0, 0, 1, 1};
  const Kernel kernel = products();
  for (const Target& target : testTargets()) {
    MachineCode code = compile(kernel, target);
    if (!code.entry || !runsHere(target)) continue;
    for (int call = 0; call < 2; ++call) {
      std::vector<int32_t> met(x.size(), -1);
      code({x.data(), y.data(), met.data()}, 0, static_cast<int64_t>(x.size()));
      EXPECT_EQ(met, wanted);
      EXPECT_EQ(y[3], 0);
      EXPECT_EQ(y[2], 0x1p-120f);
    }
  }
}

TEST(Subnormals, OnMachinesThatDoNotSay) {
  const Kernel kernel = products();
  const Kernel* kernels[] = {&kernel};
  EXPECT_TRUE(compileKernels(kernels, *Target::named("aarch64"), {.verify = true}).ok());
}

}  // namespace
}  // namespace tercel::codegen
