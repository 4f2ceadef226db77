// Sums of products of the parts of words, in every width of vectors that has an instruction.
#include <bit>
#include <random>

#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::Opcode;
using kernel::Scalar;
using kernel::V;

constexpr int kWords = 64;

// A vector of words or one word for all lanes, times vectors.
Kernel kernelOf(Opcode dot, int lanes, bool repeats) {
  Kernel kernel{.name = "dot"};
  Builder b(kernel);
  const Scalar sum = dot == Opcode::dot_bf16 ? Scalar::f32 : Scalar::i32;
  auto m = b.addParam(Scalar::i32, true), n = b.addParam(Scalar::i32, true);
  auto c = b.addParam(sum, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](V i) {
    V word = b.load(m, i, repeats ? 1 : lanes);
    b.store(c, i, b.ternary(dot, word, b.load(n, i, lanes), b.load(c, i, lanes)));
  });
  return kernel;
}

uint32_t bfloat16Of(int number) {
  return std::bit_cast<uint32_t>(static_cast<float>(number)) >> 16;
}

// Small integers, so that sums are exact.
struct Data {
  std::vector<uint32_t> m, n, sums = std::vector<uint32_t>(kWords), expected = sums;

  Data(Opcode dot, int lanes, bool repeats) : m(kWords), n(kWords) {
    const int parts = dot == Opcode::dot_u8s8 ? 4 : 2;
    std::mt19937 random(5);
    std::vector<int> left(kWords * parts), right = left;
    for (int& x : left) x = static_cast<int>(random() % 17) - (parts == 4 ? 0 : 8);
    for (int& x : right) x = static_cast<int>(random() % 17) - 8;
    for (int i = 0; i < kWords; ++i) {
      int sum = i;
      for (int part = 0; part < parts; ++part) {
        auto word = [&](int x) {
          const uint32_t mask = parts == 4 ? 0xff : 0xffff;
          return (dot == Opcode::dot_bf16 ? bfloat16Of(x) : static_cast<uint32_t>(x) & mask)
                 << (32 / parts * part);
        };
        const int from = repeats ? i / lanes * lanes : i;
        sum += left[from * parts + part] * right[i * parts + part];
        m[i] |= word(left[i * parts + part]);
        n[i] |= word(right[i * parts + part]);
      }
      auto bits = [&](int x) {
        return dot == Opcode::dot_bf16 ? std::bit_cast<uint32_t>(static_cast<float>(x))
                                       : static_cast<uint32_t>(x);
      };
      sums[i] = bits(i);
      expected[i] = bits(sum);
    }
  }
};

TEST(Dots, AddUpProductsOfParts) {
  std::vector<Target> targets = testTargets();
  targets.push_back(*Target::named("znver4"));
  for (Opcode dot : {Opcode::dot_s16, Opcode::dot_u8s8, Opcode::dot_bf16})
    for (int lanes : {4, 8, 16})
      for (bool repeats : {false, true})
        for (const Target& target : targets) {
          if (dot == Opcode::dot_bf16 && !target.has_bf16_dot) continue;
          const Kernel kernel = kernelOf(dot, lanes, repeats);
          MachineCode code = compile(kernel, target);
          if (!code.entry || !runsHere(target) || !target.checkHost().ok()) continue;
          Data data(dot, lanes, repeats);
          code({data.m.data(), data.n.data(), data.sums.data()}, 0, kWords);
          EXPECT_EQ(data.sums, data.expected)
              << target.cpu << ' ' << kernel::opcodeName(dot) << ' ' << lanes << ' ' << repeats;
        }
}

TEST(Dots, AreSelectedWithoutLlvm) {
  for (Opcode dot : {Opcode::dot_s16, Opcode::dot_u8s8, Opcode::dot_bf16})
    for (int lanes : {4, 8, 16})
      EXPECT_FALSE(usesLlvm(kernelOf(dot, lanes, true), *Target::named("znver4")))
          << kernel::opcodeName(dot);
}

}  // namespace
}  // namespace tercel::codegen
