#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Scalar;
using kernel::V;

TEST(Loop, AddsTwoArrays) {
  Kernel kernel{.name = "add"};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), y = b.addParam(Scalar::f32, true);
  auto out = b.addParam(Scalar::f32, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), 16, [&](V i) {
    b.store(out, i, b.fadd(b.load(x, i, 16), b.load(y, i, 16)));
  });
  std::vector<float> xs(64), ys(64), outs(64, -1.0f);
  for (int i = 0; i < 64; ++i) xs[i] = 1.5f * i, ys[i] = 100.0f - i;
  for (const Target& target : testTargets()) {
    MachineCode code = compile(kernel, target);
    if (!runsHere(target)) continue;
    std::fill(outs.begin(), outs.end(), -1.0f);
    code({xs.data(), ys.data(), outs.data()}, 0, 48);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(outs[i], i < 48 ? xs[i] + ys[i] : -1.0f) << i;
  }
}

}  // namespace
}  // namespace tercel::codegen
