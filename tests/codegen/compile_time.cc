// Prints how long kernels of several sizes take to compile and load. A measurement, not a test.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "compiler/codegen/codegen.h"
#include "compiler/kernel/builder.h"
#include "runtime/engine/object_loader.h"

namespace tercel {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;
using kernel::V;

// Processor time of this thread in milliseconds: other processes do not count.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

// A loop with a vector body and a masked tail. The body is what a math function looks like:
// polynomial steps, exponent bit tricks, a compare and a select.
Kernel sample(int instructions, int seed, int lanes) {
  Kernel kernel{.name = cat("sample_", instructions, '_', seed)};
  Builder b(kernel);
  auto x = b.addParam(Scalar::f32, true), y = b.addParam(Scalar::f32, true);
  auto out = b.addParam(Scalar::f32, false);
  kernel::Type type{Scalar::f32, static_cast<uint16_t>(lanes)};
  auto constant = [&](int i) { return b.number(type, 0.25 + 0.01 * i + 0.001 * seed); };
  b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
    V p = b.load(x, i, lanes), q = b.load(y, i, lanes);
    for (int n = 2; n < instructions - 1; n += 8) {
      V r = b.fma(p, q, constant(n));
      r = b.fma(r, p, constant(n + 1));
      V low = b.compare(Opcode::fcmp, Predicate::olt, r, constant(n + 2));
      V word = b.cast(Opcode::bitcast, r, Scalar::i32);
      word = b.binary(Opcode::shl, word, b.integer({Scalar::i32, 1}, 1 + n % 3));
      V scaled = b.fmul(b.cast(Opcode::bitcast, word, Scalar::f32), q);
      q = b.select(low, scaled, r);
      p = b.fadd(p, q);
    }
    b.store(out, i, p);
  });
  return kernel;
}

int runs() {
  const char* text = std::getenv("RUNS");
  return text ? std::atoi(text) : 31;
}

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

void measure(int instructions, const codegen::Target& target) {
  std::vector<double> compile, load;
  size_t bytes = 0;
  for (int run = 0; run < runs(); ++run) {
    Kernel kernel = sample(instructions, run, target.vector_bytes / 4);
    const Kernel* kernels[] = {&kernel};
    double start = now();
    auto object = codegen::compileKernels(kernels, target);
    double compiled = now();
    if (!object.ok()) std::puts(object.status().message().c_str()), std::exit(1);
    engine::ObjectBytes objects[] = {object->bytes};
    auto code = engine::LoadedCode::load(objects);
    if (!code.ok()) std::exit(1);
    compile.push_back(compiled - start);
    load.push_back(now() - compiled);
    bytes = object->bytes.size();
  }
  std::printf("%-10s %5d instructions: compile %7.3f ms (first %7.3f), load %.3f ms, %zu bytes\n",
              target.cpu.c_str(), instructions, median(compile), compile[0], median(load), bytes);
}

// What one more kernel in the same object costs.
void measureTogether(int instructions, int count, const codegen::Target& target) {
  std::vector<double> compile;
  for (int run = 0; run < runs(); ++run) {
    std::vector<Kernel> kernels;
    std::vector<const Kernel*> pointers;
    for (int i = 0; i < count; ++i)
      kernels.push_back(sample(instructions, run * count + i, target.vector_bytes / 4));
    for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
    double start = now();
    auto object = codegen::compileKernels(pointers, target);
    if (!object.ok()) std::exit(1);
    compile.push_back((now() - start) / count);
  }
  std::printf("%-10s %d kernels of %d instructions in one object: %.3f ms each\n",
              target.cpu.c_str(), count, instructions, median(compile));
}

}  // namespace
}  // namespace tercel

int main(int argc, char** argv) {
  using namespace tercel;
  std::vector<codegen::Target> targets = {codegen::Target::host()};
  std::vector<int> sizes = {10, 60, 300, 1000};
  if (argc > 1) sizes = {std::atoi(argv[1])};
  if (argc > 2) targets = {*codegen::Target::named(argv[2])};
  for (const codegen::Target& target : targets) {
    for (int size : sizes) measure(size, target);
    for (int size : {10, 60}) measureTogether(size, 16, target);
  }
}
