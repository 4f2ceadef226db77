#include "runtime/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace tercel::runtime {
namespace {

TEST(Allocator, BlocksAreAlignedAndApart) {
  Allocator allocator;
  std::vector<std::pair<char*, int64_t>> blocks;
  for (int64_t bytes : {0, 1, 63, 64, 65, 80, 81, 100, 127, 128, 129, 1000, 4096, 100000}) {
    Result<void*> data = allocator.allocate(bytes);
    ASSERT_TRUE(data.ok());
    ASSERT_NE(*data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*data) % Allocator::kAlign, 0u);
    std::memset(*data, static_cast<int>(blocks.size()), static_cast<size_t>(bytes));
    blocks.push_back({static_cast<char*>(*data), bytes});
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [data, bytes] = blocks[i];
    for (int64_t k = 0; k < bytes; ++k) ASSERT_EQ(data[k], static_cast<char>(i));
    allocator.free(data, bytes);
  }
}

TEST(Allocator, LargeBlocksBeginAtDifferentPlacesOfAPage) {
  constexpr int64_t kBytes = 5 << 20;
  Allocator allocator;
  std::set<uintptr_t> places;
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(*allocator.allocate(kBytes));
    std::memset(blocks.back(), i, kBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % Allocator::kAlign, 0u);
    places.insert(reinterpret_cast<uintptr_t>(blocks.back()) % 4096);
  }
  EXPECT_EQ(places.size(), blocks.size());
  for (void* block : blocks) allocator.free(block, kBytes);
  allocator.trim();
}

// Every size around every class boundary: the block must hold it.
TEST(Allocator, SizesAroundPowersOfTwo) {
  Allocator allocator;
  for (int power = 0; power < 24; ++power) {
    for (int64_t quarter = 4; quarter <= 8; ++quarter) {
      for (int64_t delta : {-1, 0, 1}) {
        int64_t bytes = (quarter << power) / 4 + delta;
        if (bytes < 1) continue;
        Result<void*> data = allocator.allocate(bytes);
        ASSERT_TRUE(data.ok());
        static_cast<char*>(*data)[0] = static_cast<char*>(*data)[bytes - 1] = 1;
        allocator.free(*data, bytes);
      }
    }
  }
  EXPECT_EQ(allocator.stats().bytes_in_use, 0);
}

TEST(Allocator, FreedBlocksComeBack) {
  Allocator allocator;
  void* first = *allocator.allocate(10000);
  allocator.free(first, 10000);
  EXPECT_GE(allocator.stats().bytes_cached, 10000);
  EXPECT_EQ(*allocator.allocate(9990), first);
  EXPECT_EQ(allocator.stats().bytes_cached, 0);
  allocator.free(first, 9990);
  allocator.trim();
  EXPECT_EQ(allocator.stats().bytes_cached, 0);
}

TEST(Allocator, LargeBlocksBeginInTheFirstPageOfAHugeOne) {
  Allocator allocator;
  Result<void*> data = allocator.allocate(8 << 20);
  ASSERT_TRUE(data.ok());
  EXPECT_LT(reinterpret_cast<uintptr_t>(*data) % (2 << 20), 4096u);
  allocator.free(*data, 8 << 20);
}

TEST(Allocator, TheLimitHolds) {
  Allocator allocator(1 << 20);
  Result<void*> half = allocator.allocate(600 << 10);
  ASSERT_TRUE(half.ok());
  Result<void*> more = allocator.allocate(600 << 10);
  EXPECT_EQ(more.status().code(), Code::resource_exhausted);
  EXPECT_NE(more.status().message().find("614400 bytes asked for"), std::string::npos)
      << more.status().message();
  allocator.free(*half, 600 << 10);
  // What is cached gives way to what is wanted.
  Result<void*> other = allocator.allocate(900 << 10);
  ASSERT_TRUE(other.ok());
  allocator.free(*other, 900 << 10);
  EXPECT_EQ(allocator.allocate(INT64_MAX).status().code(), Code::resource_exhausted);
  EXPECT_EQ(Allocator(INT64_MAX).allocate(int64_t{1} << 49).status().code(),
            Code::resource_exhausted);
}

TEST(Allocator, Stats) {
  Allocator allocator(1 << 20);
  void* a = *allocator.allocate(100);
  void* b = *allocator.allocate(1000);
  allocator.free(a, 100);
  AllocatorStats stats = allocator.stats();
  EXPECT_EQ(stats.bytes_in_use, 1000);
  EXPECT_EQ(stats.peak_bytes_in_use, 1100);
  EXPECT_EQ(stats.bytes_limit, 1 << 20);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.allocations_in_use, 1);
  EXPECT_EQ(stats.largest_allocation, 1000);
  allocator.resetStats();
  EXPECT_EQ(allocator.stats().peak_bytes_in_use, 1000);
  allocator.free(b, 1000);
}

TEST(Allocator, Poison) {
  for (auto [poison, byte] : {std::pair(Poison::nan, 0xff), std::pair(Poison::byte, 0xcb)}) {
    Allocator allocator(0, poison);
    for (int round = 0; round < 2; ++round) {  // fresh, then recycled
      auto* data = static_cast<unsigned char*>(*allocator.allocate(300));
      for (int i = 0; i < 300; ++i) ASSERT_EQ(data[i], byte);
      std::memset(data, 0, 300);
      allocator.free(data, 300);
    }
  }
}

TEST(Allocator, ManyThreads) {
  Allocator allocator;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<char*, int64_t>> mine;
      for (int i = 0; i < 2000; ++i) {
        if (mine.size() < 20 || random() % 2) {
          int64_t bytes = 1 + random() % 5000;
          auto* data = static_cast<char*>(*allocator.allocate(bytes));
          data[0] = data[bytes - 1] = static_cast<char>(t);
          mine.push_back({data, bytes});
        } else {
          auto [data, bytes] = mine.back();
          ASSERT_EQ(data[0], t);
          ASSERT_EQ(data[bytes - 1], t);
          allocator.free(data, bytes);
          mine.pop_back();
        }
      }
      for (auto [data, bytes] : mine) allocator.free(data, bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace tercel::runtime
