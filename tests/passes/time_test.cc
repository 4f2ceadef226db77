// Compile time is a promise: the pipeline is linear in the ops. The bound is wide, because machines
// that run tests are busy; TERCEL_TIMES=1 prints what each pass takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

#include "compiler/ir/builder.h"
#include "compiler/passes/pipeline.h"

namespace tercel::passes {
namespace {

using ir::OpKind;
using ir::Value;

// Dense layers and what JAX puts around them, `layers` times about 25 ops.
ir::Module network(int layers) {
  ir::Module m;
  ir::RegionId body = m.addRegion();
  m.functions.push_back({.name = "main", .body = body});
  Value x = m.addArg(body, ir::Type{Shape{DType::f32, {32, 64}}});
  m.functions[0].args.push_back({});
  ir::Builder b(m, body);
  for (int i = 0; i < layers; ++i) {
    Value w = b.broadcast(b.splat({DType::f32, {}}, 0.5 + i), {DType::f32, {64, 64}}, {});
    Value bias = b.broadcast(b.slice(x, {0, 0}, {1, 64}, {1, 1}), {DType::f32, {32, 64}}, {0, 1});
    Value y = b.build(OpKind::dot_general_, {x, b.transpose(w, {1, 0})},
                      {{ir::AttrKey::lhs_batching_dimensions, ir::Ints{}},
                       {ir::AttrKey::rhs_batching_dimensions, ir::Ints{}},
                       {ir::AttrKey::lhs_contracting_dimensions, ir::Ints{1}},
                       {ir::AttrKey::rhs_contracting_dimensions, ir::Ints{0}}});
    y = b.binary(OpKind::add_, y, bias);
    Value zero = b.splat({DType::f32, {32, 64}}, 0);
    Value gate = b.compare(y, zero, "GT", "FLOAT");
    y = b.select(gate, y, b.binary(OpKind::multiply_, y, b.splat({DType::f32, {32, 64}}, 0.1)));
    Value h = b.convert(b.convert(y, DType::f64), DType::f32);
    Value t = b.transpose(b.transpose(h, {1, 0}), {1, 0});
    Value e = b.unary(OpKind::exponential_, b.binary(OpKind::subtract_, t, y));
    Value r = b.reshape(b.reshape(e, {64, 32}), {32, 64});
    x = b.binary(OpKind::divide_, r, b.splat({DType::f32, {32, 64}}, 4));
  }
  m.region(body).results.push_back(x);
  m.functions[0].results.push_back({});
  return m;
}

// Of this thread, so that other processes do not count.
double cpuMilliseconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

double milliseconds(int layers, std::map<std::string, double>* times) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    ir::Module m = network(layers);
    std::map<std::string, double> each;
    PipelineOptions options;
    options.timed = [&](const PassTime& t) { each[std::string(t.pass)] += t.milliseconds; };
    double start = cpuMilliseconds();
    EXPECT_TRUE(runPipeline(m, options).ok());
    double took = cpuMilliseconds() - start;
    if (took >= best) continue;
    best = took;
    *times = each;
  }
  return best;
}

TEST(Time, IsLinearInTheOps) {
  std::map<std::string, double> times;
  double few = milliseconds(100, &times);
  double many = milliseconds(400, &times);
  if (std::getenv("TERCEL_TIMES")) {
    std::printf("%d ops: %.2f ms\n", int(network(400).opCount()), many);
    for (auto& [pass, took] : times) std::printf("  %-14s %.2f ms\n", pass.c_str(), took);
  }
  EXPECT_LT(many, 10 * few + 5) << few << " ms for 100 layers";
}

}  // namespace
}  // namespace tercel::passes
