#include "runtime/engine/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/engine/host.h"

namespace tercel::engine {
namespace {

// Counts how often each task runs, through the pool's own interface.
std::vector<int> counts(ThreadPool& pool, int64_t tasks, int64_t grain) {
  std::vector<int> seen(static_cast<size_t>(tasks));
  auto each = [&](int64_t begin, int64_t end) {
    EXPECT_TRUE(end - begin >= std::max<int64_t>(1, grain - 1) || end - begin == tasks);
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  };
  pool.parallel().forEach(tasks, grain, each);
  return seen;
}

TEST(ThreadPool, EveryTaskRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t tasks : {0, 1, 2, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 100, 5000}) {
        EXPECT_EQ(counts(pool, tasks, grain), std::vector<int>(static_cast<size_t>(tasks), 1))
            << threads << " threads, " << tasks << " tasks, grain " << grain;
      }
    }
  }
}

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  // Each of two tasks waits for the other, so one thread alone would never end.
  pool.parallel().forEach(2, 1, [&](int64_t, int64_t) {
    inside.fetch_add(1);
    while (inside.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(inside.load(), 2);
}

// Two threads that take as long: each begins with its half, in pieces that become smaller.
TEST(ThreadPool, ThreadsBeginWithNeighbours) {
  ThreadPool pool(2);
  std::mutex mutex;
  std::map<std::thread::id, std::vector<std::pair<int64_t, int64_t>>> groups;
  std::atomic<int> begun{0};
  pool.parallel().forEach(32, 1, [&](int64_t begin, int64_t end) {
    begun.fetch_add(1);
    while (begun.load() < 2) std::this_thread::yield();
    std::lock_guard lock(mutex);
    groups[std::this_thread::get_id()].push_back({begin, end});
  });
  ASSERT_EQ(groups.size(), 2u);
  std::set<std::pair<int64_t, int64_t>> first;
  for (const auto& [thread, of_thread] : groups) first.insert(of_thread[0]);
  EXPECT_EQ(first, (std::set<std::pair<int64_t, int64_t>>{{0, 4}, {16, 20}}));
}

TEST(ThreadPool, NestedLoopsRunInline) {
  ThreadPool pool(4);
  std::atomic<int> total{0};
  pool.parallel().forEach(16, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::thread::id outer = std::this_thread::get_id();
      pool.parallel().forEach(100, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        total.fetch_add(static_cast<int>(e - b));
      });
    }
  });
  EXPECT_EQ(total.load(), 1600);
}

// More loops at once than the pool has room for, short enough that workers come late to most.
TEST(ThreadPool, ManyCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 12; ++caller) {
    callers.emplace_back([&pool, caller] {
      for (int64_t round = 0; round < 300; ++round) {
        int64_t tasks = 2 + (round * 7 + caller) % 50;
        std::atomic<int64_t> sum{0};
        pool.parallel().forEach(tasks, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum.fetch_add(i + 1);
        });
        ASSERT_EQ(sum.load(), tasks * (tasks + 1) / 2);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, StartsAndStopsIdle) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

TEST(ThreadScratch, IsAlignedKeptAndGrows) {
  void* small = threadScratch(100);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(threadScratch(50), small);
  void* big = threadScratch(1 << 20);
  ASSERT_NE(big, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(big) % 64, 0u);
  static_cast<char*>(big)[(1 << 20) - 1] = 1;
  EXPECT_EQ(threadScratch(size_t{1} << 50), nullptr);
  EXPECT_NE(threadScratch(64), nullptr);
}

TEST(ThreadScratch, IsLent) {
  alignas(64) std::array<std::byte, 256> lent;
  void* own = threadScratch(100);
  {
    const ScratchLoan loan(lent.data(), lent.size());
    EXPECT_EQ(threadScratch(256), lent.data());
    void* larger = threadScratch(1000);
    EXPECT_NE(larger, own);
    EXPECT_NE(larger, lent.data());
  }
  EXPECT_EQ(threadScratch(100), own);
}

TEST(ThreadPool, IsLeftAloneByAProcessThatWasForked) {
  auto pool = std::make_unique<ThreadPool>(3, 100);
  const pid_t child = fork();
  if (child == 0) {
    { ThreadPool own(3); }
    pool.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Host, SaysWhatThereIs) {
  EXPECT_GE(availableCpus(), 1);
  EXPECT_LE(availableCpus(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(availableMemory(), 16 << 20);
}

TEST(Host, CpuFeatures) {
  EXPECT_TRUE(checkCpu(kHostArchitecture, "").ok());
  EXPECT_TRUE(checkCpu(kHostArchitecture, "-avx512f,+cx8,+fxsr").ok());
  EXPECT_EQ(checkCpu(kHostArchitecture, "+cx8,+unheard-of").ok(),
            kHostArchitecture != Architecture::x86_64);
  const auto other = kHostArchitecture == Architecture::x86_64 ? Architecture::aarch64
                                                               : Architecture::x86_64;
  Status elsewhere = checkCpu(other, "");
  EXPECT_EQ(elsewhere.code(), Code::failed_precondition);
  EXPECT_EQ(elsewhere.message(), cat("the program was compiled for ", toString(other),
                                     ", and this machine is ", toString(kHostArchitecture)));
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("amx-tile")) {
    Status status = checkCpu(kHostArchitecture, "+sse3,+amx-tile");
    EXPECT_EQ(status.code(), Code::failed_precondition);
    EXPECT_NE(status.message().find("amx-tile"), std::string::npos);
  }
#endif
}

}  // namespace
}  // namespace tercel::engine
