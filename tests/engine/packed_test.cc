#include "program/packed.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <lz4hc.h>

#include <algorithm>
#include <initializer_list>
#include <random>

namespace tercel::program {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytesOf(std::initializer_list<int> values) {
  Bytes bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Packed packedByLz4(const Bytes& bytes, int level) {
  const int size = static_cast<int>(bytes.size());
  Bytes out(static_cast<size_t>(LZ4_compressBound(size)));
  const auto* from = reinterpret_cast<const char*>(bytes.data());
  auto* to = reinterpret_cast<char*>(out.data());
  const int room = static_cast<int>(out.size());
  const int packed = level == 0 ? LZ4_compress_default(from, to, size, room)
                                : LZ4_compress_HC(from, to, size, room, level);
  out.resize(static_cast<size_t>(packed));
  return {bytes.size(), out};
}

// Runs of bytes, repeats of what came before, and noise.
Bytes mixture(std::mt19937& random, size_t size) {
  Bytes bytes;
  while (bytes.size() < size) {
    const size_t length = 1 + random() % 700, kind = random() % 3;
    const size_t back = bytes.empty() ? 0 : 1 + random() % std::min<size_t>(bytes.size(), 70000);
    for (size_t i = 0; i < length; ++i) {
      if (kind == 0) bytes.push_back(static_cast<std::byte>(random()));
      else if (kind == 1 || back == 0) bytes.push_back(std::byte{3});
      else bytes.push_back(bytes[bytes.size() - back]);
    }
  }
  return bytes;
}

TEST(Packed, StoredBytesComeBack) {
  const Bytes bytes = bytesOf({1, 2, 3});
  EXPECT_EQ(*unpack(stored(bytes)), bytes);
  EXPECT_EQ(*unpack(stored({})), Bytes());
}

TEST(Packed, LiteralsAndACopyThatOverlaps) {
  // "ab", then 6 bytes from 2 back, then "c".
  const Packed packed{9, bytesOf({0x22, 'a', 'b', 2, 0, 0x10, 'c'})};
  EXPECT_EQ(*unpack(packed), bytesOf({'a', 'b', 'a', 'b', 'a', 'b', 'a', 'b', 'c'}));
}

TEST(Packed, WhatLz4PacksComesBack) {
  std::mt19937 random(1);
  for (size_t size : {13, 100, 4096, 65536, 300000}) {
    for (int level : {0, 9, LZ4HC_CLEVEL_MAX}) {
      const Bytes bytes = mixture(random, size);
      const Packed packed = packedByLz4(bytes, level);
      if (packed.bytes.size() == packed.size) continue;  // would count as stored
      Result<Bytes> back = unpack(packed);
      ASSERT_TRUE(back.ok()) << size << ": " << back.status().message();
      EXPECT_EQ(*back, bytes) << size;
    }
  }
}

TEST(Packed, DamageIsDataLoss) {
  const Bytes cases[] = {
      {},
      bytesOf({0x22, 'a', 'b', 3, 0, 0x10, 'c'}),     // from before the start
      bytesOf({0x22, 'a', 'b', 0, 0, 0x10, 'c'}),     // from nowhere
      bytesOf({0x22, 'a', 'b', 2, 0}),                // no end
      bytesOf({0x22, 'a', 'b', 2}),                   // half an offset
      bytesOf({0xf0, 255}),                           // half a length
      bytesOf({0x2f, 'a', 'b', 2, 0, 255, 255, 1, 0x10, 'c'}),  // too long a copy
      bytesOf({0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),  // too many literals
      bytesOf({0x20, 'a', 'b'}),                      // too few
  };
  for (const Bytes& bytes : cases)
    EXPECT_EQ(unpack({9, bytes}).status().code(), Code::data_loss);
  EXPECT_EQ(unpack({uint64_t{1} << 60, bytesOf({0})}).status().code(), Code::data_loss);
}

TEST(Packed, EveryTruncationIsDataLoss) {
  std::mt19937 random(2);
  const Packed whole = packedByLz4(mixture(random, 5000), 9);
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    const Packed cut{whole.size, {whole.bytes.begin(), whole.bytes.begin() + size}};
    EXPECT_EQ(unpack(cut).status().code(), Code::data_loss) << size;
  }
}

}  // namespace
}  // namespace tercel::program
