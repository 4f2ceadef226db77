// The machine's tiles: what they load, add up and store.
#include <bit>
#include <random>

#include "machine_code.h"

namespace tercel::codegen {
namespace {

using kernel::Builder;
using kernel::Kernel;
using kernel::kTileRows;
using kernel::Opcode;
using kernel::Scalar;
using kernel::V;

constexpr int64_t kWords = 3 * kTileRows, kPitchM = kWords + 5, kPitchN = 40, kPitchC = 37;

// c += m n over kWords words, c's tile from memory or from zero; a tile in between says whether
// they keep apart.
Kernel product(Opcode dot, bool from_zero) {
  Kernel kernel{.name = from_zero ? "product" : "sum"};
  Builder b(kernel);
  Scalar sum = dot == Opcode::tile_dot_bf16 ? Scalar::f32 : Scalar::i32;
  auto m = b.addParam(Scalar::i32, true), n = b.addParam(Scalar::i32, true);
  auto c = b.addParam(sum, false), other = b.addParam(Scalar::f32, false);
  V zero = b.index(0);
  b.tiles(Opcode::tiles_begin);
  b.tileLoad(7, other, zero, kTileRows);
  from_zero ? b.tiles(Opcode::tile_zero, {2}) : b.tileLoad(2, c, zero, kPitchC, 3);
  b.forLoop(zero, b.index(kWords), kTileRows, [&](V k) {
    b.tileLoad(4, m, k, kPitchM, 1);
    b.tileLoad(6, n, b.imul(k, b.index(kPitchN)), kPitchN, 2);
    b.tiles(dot, {2, 4, 6});
  });
  b.tileStore(2, c, zero, kPitchC, 3);
  b.tileStore(7, other, zero, kTileRows, kTileRows * kTileRows);
  b.tiles(Opcode::tiles_end);
  return kernel;
}

// Small integers, so that sums are exact: as f32, and two as a word of bf16.
struct Words {
  std::vector<float> numbers;
  std::vector<uint32_t> words;
  Words(size_t count, std::mt19937& random) : numbers(2 * count), words(count) {
    for (float& x : numbers) x = static_cast<float>(random() % 17) - 8;
    auto half = [&](size_t i) { return std::bit_cast<uint32_t>(numbers[i]) >> 16; };
    for (size_t i = 0; i < count; ++i) words[i] = half(2 * i) | half(2 * i + 1) << 16;
  }
};

TEST(Tiles, AddUpProductsOfWords) {
  Kernel kernels[] = {product(Opcode::tile_dot_bf16, true),
                      product(Opcode::tile_dot_bf16, false)};
  std::mt19937 random(3);
  for (bool from_zero : {true, false}) {
    const Kernel& kernel = kernels[from_zero ? 0 : 1];
    MachineCode code = compile(kernel, *Target::named("sapphirerapids"));
    if (!code.entry || !Target::host().has_tiles) continue;
    Words m(1 + kTileRows * kPitchM, random), n(2 + kWords * kPitchN, random);
    std::vector<float> c(3 + kTileRows * kPitchC, 5.0f), expected = c;
    std::vector<float> other(2 * kTileRows * kTileRows, 0.0f);
    for (size_t i = 0; i < other.size() / 2; ++i) other[i] = static_cast<float>(i);
    for (int64_t i = 0; i < kTileRows; ++i)
      for (int64_t j = 0; j < kTileRows; ++j) {
        float sum = from_zero ? 0 : 5;
        for (int64_t k = 0; k < 2 * kWords; ++k)
          sum += m.numbers[2 * (1 + i * kPitchM) + k] *
                 n.numbers[2 * (2 + k / 2 * kPitchN + j) + k % 2];
        expected[3 + i * kPitchC + j] = sum;
      }
    code({m.words.data(), n.words.data(), c.data(), other.data()});
    EXPECT_EQ(c, expected);
    EXPECT_TRUE(std::equal(other.begin(), other.begin() + kTileRows * kTileRows,
                           other.begin() + kTileRows * kTileRows));
  }
}

// The bytes of words, read with or without a sign.
int32_t byteAt(const std::vector<uint32_t>& words, int64_t at, bool is_signed) {
  uint32_t byte = words[static_cast<size_t>(at / 4)] >> (8 * (at % 4)) & 0xff;
  return is_signed ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte);
}

struct ByteDot {
  Opcode op;
  bool m_signed, n_signed;
};
constexpr ByteDot kByteDots[] = {{Opcode::tile_dot_s8s8, true, true},
                                 {Opcode::tile_dot_s8u8, true, false},
                                 {Opcode::tile_dot_u8s8, false, true},
                                 {Opcode::tile_dot_u8u8, false, false}};

TEST(Tiles, AddUpProductsOfBytes) {
  std::mt19937 random(4);
  for (const ByteDot& dot : kByteDots) {
    Kernel kernel = product(dot.op, false);
    MachineCode code = compile(kernel, *Target::named("sapphirerapids"));
    if (!code.entry || !Target::host().has_tiles) continue;
    std::vector<uint32_t> m(1 + kTileRows * kPitchM), n(2 + kWords * kPitchN);
    for (uint32_t& word : m) word = static_cast<uint32_t>(random());
    for (uint32_t& word : n) word = static_cast<uint32_t>(random());
    std::vector<int32_t> c(3 + kTileRows * kPitchC, INT32_MAX - 9), expected = c;
    for (int64_t i = 0; i < kTileRows; ++i)
      for (int64_t j = 0; j < kTileRows; ++j) {
        int64_t sum = INT32_MAX - 9;  // wraps around
        for (int64_t k = 0; k < 4 * kWords; ++k)
          sum += int64_t{byteAt(m, 4 * (1 + i * kPitchM) + k, dot.m_signed)} *
                 byteAt(n, 4 * (2 + k / 4 * kPitchN + j) + k % 4, dot.n_signed);
        expected[static_cast<size_t>(3 + i * kPitchC + j)] = static_cast<int32_t>(sum);
      }
    std::vector<float> other(2 * kTileRows * kTileRows, 0.0f);
    code({m.data(), n.data(), c.data(), other.data()});
    EXPECT_EQ(c, expected) << kernel::opcodeName(dot.op);
  }
}

}  // namespace
}  // namespace tercel::codegen
