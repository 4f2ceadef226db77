// Arena offsets: what lives at the same time lies apart.
#include "compiler/plan/storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tercel::plan {
namespace {

Storage arena(int64_t bytes, int64_t first, int64_t last) {
  return {.bytes = bytes, .first = first, .last = last};
}

bool together(const Storage& a, const Storage& b) { return a.first <= b.last && b.first <= a.last; }

bool apart(const Storage& a, const Storage& b) {
  return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

TEST(AssignOffsets, LiveStoragesLieApart) {
  std::mt19937 random(1);
  auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % limit); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Storage> storages;
    for (int64_t n = 1 + below(40); n > 0; --n) {
      int64_t first = below(30);
      storages.push_back(arena(1 + below(500), first, first + below(12)));
    }
    int64_t size = assignOffsets(storages);
    int64_t end = 0;
    for (const Storage& a : storages) {
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_GE(a.offset, 0);
      end = std::max(end, a.offset + a.bytes);
      for (const Storage& b : storages)
        EXPECT_TRUE(&a == &b || !together(a, b) || apart(a, b))
            << a.offset << '+' << a.bytes << ' ' << b.offset << '+' << b.bytes;
    }
    EXPECT_LE(end, size);
    EXPECT_LT(size, end + 64);
  }
}

TEST(AssignOffsets, MemoryIsUsedAgain) {
  std::vector<Storage> chain;
  for (int64_t step = 0; step < 50; ++step) chain.push_back(arena(1000, step, step + 1));
  EXPECT_EQ(assignOffsets(chain), 2 * 1024);
}

TEST(AssignOffsets, AGapIsFilled) {
  std::vector<Storage> storages = {arena(128, 0, 9), arena(256, 0, 1), arena(64, 0, 9),
                                   arena(200, 2, 9)};
  EXPECT_EQ(assignOffsets(storages), 128 + 256 + 64);
  EXPECT_EQ(storages[3].offset, 128);
}

TEST(AssignOffsets, OnlyTheArenaHasOffsets) {
  std::vector<Storage> storages = {
      {.place = program::Place::argument, .bytes = 640, .first = 0, .last = 5}, arena(64, 0, 5)};
  EXPECT_EQ(assignOffsets(storages), 64);
  EXPECT_EQ(storages[1].offset, 0);
}

}  // namespace
}  // namespace tercel::plan
