#include "runtime/engine/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/engine/host.h"

namespace tercel::engine {
namespace {

constexpr int64_t kChunksPerThread = 4;
// How long an idle thread looks for work before it sleeps: about what waking it costs, which on a
// virtual machine interrupts another processor. Between the steps of a program it stays awake.
constexpr auto kSpin = std::chrono::microseconds(50);

thread_local bool inside_task = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins until done() or kSpin has passed; whether done() held.
template <class F>
bool spinUntil(F&& done) {
  if (done()) return true;
  auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      relax();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

struct Scratch {
  void* data = nullptr;
  size_t bytes = 0;
  ~Scratch() { std::free(data); }
};

}  // namespace

void* threadScratch(size_t bytes) {
  thread_local Scratch scratch;
  if (bytes <= scratch.bytes && scratch.data) return scratch.data;
  std::free(scratch.data);
  scratch.bytes = std::max<size_t>(4096, (bytes + 63) / 64 * 64);
  scratch.data = std::aligned_alloc(64, scratch.bytes);
  if (!scratch.data) scratch.bytes = 0;
  return scratch.data;
}

ThreadPool::ThreadPool(int threads) {
  workers_.reserve(static_cast<size_t>(std::max(threads, 1) - 1));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    // The machine has no more threads: the loops run on those there are.
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

kernels::Parallel ThreadPool::parallel() {
  return {this, [](void* pool, int64_t tasks, int64_t grain, kernels::TaskFn fn, void* context) {
            static_cast<ThreadPool*>(pool)->parallelFor(tasks, grain, fn, context);
          }};
}

ThreadPool::Loop* ThreadPool::takeLoop() {
  for (Loop& loop : loops_) {
    if (!loop.taken.load(std::memory_order_relaxed) &&
        !loop.taken.exchange(true, std::memory_order_acquire)) {
      return &loop;
    }
  }
  return nullptr;
}

void ThreadPool::parallelFor(int64_t tasks, int64_t grain, kernels::TaskFn fn, void* context) {
  if (tasks <= 0) return;
  int64_t chunks = std::min(tasks / std::max<int64_t>(grain, 1), threads() * kChunksPerThread);
  Loop* loop = chunks > 1 && !workers_.empty() && !inside_task ? takeLoop() : nullptr;
  if (!loop) return fn(context, 0, tasks);
  loop->fn = fn;
  loop->context = context;
  loop->tasks = tasks;
  loop->chunks = chunks;
  loop->next.store(0, std::memory_order_relaxed);
  loop->active.store(true);
  wakeWorkers(chunks);
  runChunks(*loop);
  finish(*loop);
}

void ThreadPool::wakeWorkers(int64_t chunks) {
  epoch_.fetch_add(1);
  int64_t sleepers = sleepers_.load();
  if (sleepers == 0) return;
  if (chunks > sleepers) return epoch_.notify_all();
  for (int64_t i = 1; i < chunks; ++i) epoch_.notify_one();  // the caller is one
}

// Chunk c is [tasks * c / chunks, tasks * (c + 1) / chunks), computed without overflow.
void ThreadPool::runChunks(Loop& loop) {
  int64_t each = loop.tasks / loop.chunks, rest = loop.tasks % loop.chunks;
  bool outer = inside_task;
  inside_task = true;
  for (;;) {
    int64_t chunk = loop.next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= loop.chunks) break;
    int64_t begin = chunk * each + std::min(chunk, rest);
    loop.fn(loop.context, begin, begin + each + (chunk < rest ? 1 : 0));
  }
  inside_task = outer;
}

void ThreadPool::finish(Loop& loop) {
  loop.active.store(false);
  if (!spinUntil([&] { return loop.users.load() == 0; })) {
    for (int32_t users; (users = loop.users.load()) != 0;) loop.users.wait(users);
  }
  loop.taken.store(false, std::memory_order_release);
}

bool ThreadPool::joinAny() {
  bool joined = false;
  for (Loop& loop : loops_) {
    if (!loop.active.load(std::memory_order_relaxed)) continue;
    loop.users.fetch_add(1);
    if (loop.active.load() && loop.next.load(std::memory_order_relaxed) < loop.chunks) {
      joined = true;
      runChunks(loop);
    }
    loop.users.fetch_sub(1);
    loop.users.notify_all();
  }
  return joined;
}

void ThreadPool::work() {
  uint32_t seen = epoch_.load();
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (joinAny()) continue;
    if (spinUntil([&] { return epoch_.load(std::memory_order_relaxed) != seen; })) {
      seen = epoch_.load();
      continue;
    }
    sleepers_.fetch_add(1);
    epoch_.wait(seen);
    sleepers_.fetch_sub(1);
    seen = epoch_.load();
  }
}

}  // namespace tercel::engine
