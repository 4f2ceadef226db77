// Threads that share the tasks of a loop with the thread that runs it.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/kernels/isa.h"
#include "runtime/kernels/parallel.h"

namespace tercel::engine {

// The calling thread's own memory, 64-byte aligned, kept and grown; content undefined. A larger
// request may move it. Null where there is no memory.
void* threadScratch(size_t bytes);

// While it lives, the calling thread's requests that fit are served from `data`.
class ScratchLoan {
 public:
  // Throws std::bad_alloc.
  ScratchLoan(void* data, size_t bytes);
  ~ScratchLoan();
  ScratchLoan(const ScratchLoan&) = delete;
  ScratchLoan& operator=(const ScratchLoan&) = delete;

 private:
  struct Memory {
    void* data;
    size_t bytes;
    bool is_lent;
  } before_;
};

class ThreadPool {
 public:
  // `threads` counts the caller: 1 starts none. They treat subnormals as the thread that makes them,
  // and have threadScratch(scratch_bytes) before the constructor returns.
  [[gnu::cold]] explicit ThreadPool(int threads, size_t scratch_bytes = 0);
  [[gnu::cold]] ~ThreadPool();  // no loop may be running; a process that fork() made has none of the threads
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(context, begin, end) on groups of tasks that together are [0, tasks), on the caller
  // and idle workers; returns when all are done. A group lacks no more than one of `grain` tasks,
  // and equal loops give a thread the same ones first. Any thread may call it, several at once too;
  // inside of a task it runs everything on that thread.
  void parallelFor(int64_t tasks, int64_t grain, kernels::TaskFn fn, void* context);
  kernels::Parallel parallel();

 private:
  // The chunks of a loop that one thread begins with: neighbours, whose data the next loop finds in
  // that thread's cache. It takes them from the front; who has no more of its own, from the back.
  class alignas(64) Share {
   public:
    void set(uint32_t begin, uint32_t end) { range_.store(packed(begin, end)); }
    bool isEmpty() const;
    std::optional<uint32_t> take(bool first);

   private:
    static uint64_t packed(uint32_t begin, uint32_t end) { return uint64_t{end} << 32 | begin; }

    std::atomic<uint64_t> range_{0};
  };

  // Where a share is cut in chunks, in eighths of it; none has fewer than `least` of these.
  struct Cuts {
    int64_t count, least;
    std::array<int64_t, 7> at;
  };
  static const std::array<Cuts, 4> kCuts;

  // A loop that workers may join. Workers count themselves in `users` before they look at
  // `active`; the owner clears `active` before it looks at `users`. So when the owner sees no
  // users, none can touch the loop any more, and the slot is free for another.
  struct alignas(64) Loop {
    std::atomic<bool> taken{false};
    std::atomic<bool> active{false};
    std::atomic<int32_t> users{0};
    kernels::TaskFn fn = nullptr;
    void* context = nullptr;
    kernels::Isa isa = kernels::Isa::baseline;
    int64_t tasks = 0;
    int64_t sharers = 0;
    const Cuts* cuts = nullptr;       // of each share
    std::unique_ptr<Share[]> shares;  // for each thread one, of which the first `sharers` are used

    Share& share(int64_t k) const { return shares[static_cast<size_t>(k)]; }
    void divide(int64_t tasks, int64_t grain, int64_t threads);
    bool hasChunks() const;
    void run(int64_t of_share, int64_t chunk) const;
  };
  static constexpr size_t kLoops = 8;

  Loop* takeLoop();
  void wakeWorkers(int64_t sharers);
  void finish(Loop& loop);
  static void runChunks(Loop& loop, int64_t self);
  bool joinAny(int64_t self);
  void work(int64_t self);


  std::array<Loop, kLoops> loops_;
  std::atomic<uint32_t> epoch_{0};  // grows with every loop started
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> prepared_{0};  // workers that have their scratch
  std::vector<std::thread> workers_;
  const int64_t process_;
};

}  // namespace tercel::engine
