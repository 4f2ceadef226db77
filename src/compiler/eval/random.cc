#include "compiler/eval/random.h"

#include <bit>
#include <cstring>

#include "compiler/eval/index_space.h"
#include "compiler/eval/output.h"

namespace tercel::eval {
namespace {

using Wide = unsigned __int128;

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
std::array<uint32_t, 2> words(uint64_t x) { return {low(x), high(x)}; }

// Element `at` of the result: the low bits, whatever its type.
void store(Output& out, int64_t at, uint64_t bits) {
  size_t size = byteSize(out.shape().dtype);
  std::memcpy(out.bytes() + at * static_cast<int64_t>(size), &bits, size);
}

// The dimension that a THREE_FRY result of 32 bits or fewer is halved along: the first even one,
// else the first of the largest.
size_t halvedDimension(const Dims& dims) {
  size_t largest = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] % 2 == 0) return d;
    if (dims[d] > dims[largest]) largest = d;
  }
  return largest;
}

// The counters run over the half shape; the two words of a block are neighbours along the halved
// dimension. Returns the number of blocks used.
uint64_t fillThreeFry32(uint64_t key, uint64_t counter, Output& out) {
  const Dims& dims = out.shape().dims;
  if (dims.empty()) {
    store(out, 0, threeFry2x32(words(counter), words(key))[0]);
    return 1;
  }
  size_t halved = halvedDimension(dims);
  Dims half = dims, strides = rowMajorStrides(dims);
  half[halved] = (half[halved] + 1) / 2;
  uint64_t blocks = 0;
  forEachIndex(half, [&](Dims at) {
    auto block = threeFry2x32(words(counter + blocks++), words(key));
    at[halved] *= 2;
    for (uint32_t word : block) {
      if (at[halved] < dims[halved]) store(out, position(at, strides), word);
      ++at[halved];
    }
  });
  return blocks;
}

uint64_t fillThreeFry64(uint64_t key, uint64_t counter, Output& out) {
  auto n = static_cast<uint64_t>(out.shape().elements());
  for (uint64_t i = 0; i < n; ++i) {
    auto block = threeFry2x32(words(counter + i), words(key));
    store(out, static_cast<int64_t>(i), uint64_t{block[1]} << 32 | block[0]);
  }
  return n;
}

// A block gives four results of 32 bits or fewer, or two of 64. Returns the number of blocks used.
uint64_t fillPhilox(uint64_t key, Wide counter, Output& out) {
  bool is_64 = byteSize(out.shape().dtype) == 8;
  int64_t per_block = is_64 ? 2 : 4, n = out.shape().elements();
  uint64_t blocks = 0;
  for (int64_t i = 0; i < n; i += per_block) {
    Wide c = counter + blocks++;
    auto first = words(static_cast<uint64_t>(c)), second = words(static_cast<uint64_t>(c >> 64));
    auto w = philox4x32({first[0], first[1], second[0], second[1]}, words(key));
    for (int64_t k = 0; k < per_block && i + k < n; ++k)
      store(out, i + k, is_64 ? uint64_t{w[2 * k + 1]} << 32 | w[2 * k] : w[k]);
  }
  return blocks;
}

}  // namespace

std::array<uint32_t, 2> threeFry2x32(std::array<uint32_t, 2> counter, std::array<uint32_t, 2> key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  auto [x, y] = counter;
  x += keys[0], y += keys[1];
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int rotation : kRotations[(group - 1) % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[group % 3];
    y += keys[(group + 1) % 3] + group;
  }
  return {x, y};
}

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    c = {high(b) ^ c[1] ^ key[0], low(b), high(a) ^ c[3] ^ key[1], low(a)};
    key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
  }
  return c;
}

// States: THREE_FRY u64[2] = key, counter. PHILOX u64[3] = key, 128-bit counter (low half first),
// or u64[2] = key, low half, where the key is the high half too. DEFAULT is PHILOX.
Result<Literals> evalRngBitGenerator(Evaluation& evaluation, const Op& op, Operands operands) {
  Input state(operands[0]);
  const Shape& shape = state.shape();
  bool three_fry = op.symbol(AttrKey::rng_algorithm) == "THREE_FRY";
  int64_t words = shape.bytes() / 8;
  if (shape.rank() != 1 || isFloat(shape.dtype) || shape.bytes() % 8 != 0 || words < 2 ||
      words > (three_fry ? 2 : 3))
    return unimplemented("a state of ", toString(shape));
  uint64_t s[3];
  std::memcpy(s, state.bytes(), static_cast<size_t>(shape.bytes()));
  Output out(evaluation.resultShape(op, 1)), next(shape);
  if (byteSize(out.shape().dtype) > 8) return unimplemented("bits of ", toString(out.shape()));
  if (three_fry) {
    bool is_64 = byteSize(out.shape().dtype) == 8;
    s[1] += is_64 ? fillThreeFry64(s[0], s[1], out) : fillThreeFry32(s[0], s[1], out);
  } else {
    Wide counter = Wide{words == 3 ? s[2] : s[0]} << 64 | s[1];
    counter += fillPhilox(s[0], counter, out);
    s[1] = static_cast<uint64_t>(counter);
    if (words == 3) s[2] = static_cast<uint64_t>(counter >> 64);
  }
  std::memcpy(next.bytes(), s, static_cast<size_t>(shape.bytes()));
  return Literals{next.take(), out.take()};
}

}  // namespace tercel::eval
