// Lanes of vectors by numbers: every width of elements and of vectors that a machine has it for.
#include <random>

#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Scalar;
using kernel::V;

constexpr int kVectors = 9;

Kernel kernelOf(Scalar element, Scalar word, int lanes, int tables) {
  Kernel kernel{.name = "lookup"};
  Builder b(kernel);
  auto index = b.addParam(word, true), table = b.addParam(element, true);
  auto out = b.addParam(element, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
    std::vector<V> vectors;
    for (int t = 0; t < tables; ++t) vectors.push_back(b.load(table, b.index(t * lanes), lanes));
    b.store(out, i, b.lookUp(b.load(index, i, lanes), vectors));
  });
  return kernel;
}

template <class T>
void check(Scalar element, Scalar word, int lanes, int tables, const Target& target) {
  std::mt19937 random(7);
  const auto range = static_cast<unsigned>(std::min(lanes * tables, 1 << 8));
  std::vector<T> index(static_cast<size_t>(lanes * kVectors)), table(static_cast<size_t>(lanes * tables));
  std::vector<T> out(index.size()), expected(index.size());
  for (T& x : table) x = static_cast<T>(random());
  for (size_t i = 0; i < index.size(); ++i) {
    index[i] = static_cast<T>(random() % range);
    expected[i] = table[static_cast<size_t>(index[i])];
  }
  const Kernel kernel = kernelOf(element, word, lanes, tables);
  EXPECT_FALSE(usesLlvm(kernel, target)) << scalarName(element) << lanes << ' ' << tables;
  MachineCode code = compile(kernel, target);
  if (!code.entry || !runsHere(target) || !target.checkHost().ok()) return;
  code({index.data(), table.data(), out.data()}, 0, static_cast<int64_t>(index.size()));
  EXPECT_EQ(out, expected) << target.cpu << ' ' << scalarName(element) << 'x' << lanes << ' ' << tables;
}

TEST(Lookups, FindLanesByNumber) {
  for (std::string cpu : {"x86-64-v4", "znver4", "native"}) {
    const Target target = *Target::named(cpu);
    if (target.lookup_bytes == 0) continue;
    for (int tables : {1, 2, 3, 4, 5, 8})
      for (int bytes : {16, 32, 64}) {
        if (target.lookup_bytes == 1 && bytes * tables <= 256)
          check<uint8_t>(Scalar::i8, Scalar::i8, bytes, tables, target);
        check<uint16_t>(Scalar::i16, Scalar::i16, bytes / 2, tables, target);
        if (bytes == 16) continue;
        check<uint32_t>(Scalar::f32, Scalar::i32, bytes / 4, tables, target);
        check<uint32_t>(Scalar::i32, Scalar::i32, bytes / 4, tables, target);
        check<uint64_t>(Scalar::f64, Scalar::i64, bytes / 8, tables, target);
        check<uint64_t>(Scalar::i64, Scalar::i64, bytes / 8, tables, target);
      }
  }
}

}  // namespace
}  // namespace tercel::codegen
