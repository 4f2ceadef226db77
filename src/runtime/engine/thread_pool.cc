#include "runtime/engine/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/thread_exit.h"
#include "runtime/engine/host.h"

namespace tercel::engine {
namespace {

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
  bool is_lent = false;
  ~Scratch() { release(); }
  void release() {
    if (!is_lent) std::free(data);
    is_lent = false;
  }
};

// Null where there is no memory for it.
Scratch* scratchOfThread() {
  thread_local constinit bool is_noted = false;
  if (!is_noted && !hasMemoryToNoteDestructor()) return nullptr;
  is_noted = true;
  thread_local constinit Scratch scratch;
  return &scratch;
}

}  // namespace

void* threadScratch(size_t bytes) {
  Scratch* scratch = scratchOfThread();
  if (!scratch) return nullptr;
  if (bytes <= scratch->bytes && scratch->data) return scratch->data;
  scratch->release();
  scratch->bytes = std::max<size_t>(4096, (bytes + 63) / 64 * 64);
  scratch->data = std::aligned_alloc(64, scratch->bytes);
  if (!scratch->data) scratch->bytes = 0;
  return scratch->data;
}

ScratchLoan::ScratchLoan(void* data, size_t bytes) {
  Scratch* scratch = scratchOfThread();
  if (!scratch) throw std::bad_alloc();
  before_ = {scratch->data, scratch->bytes, scratch->is_lent};
  scratch->data = data;
  scratch->bytes = bytes;
  scratch->is_lent = true;
}

ScratchLoan::~ScratchLoan() {
  Scratch& scratch = *scratchOfThread();
  scratch.release();
  scratch.data = before_.data;
  scratch.bytes = before_.bytes;
  scratch.is_lent = before_.is_lent;
}

// Large ones first, which share what each call prepares; small ones last, for whoever is done.
constinit const std::array<ThreadPool::Cuts, 4> ThreadPool::kCuts = {{
    {1, 8, {0, 8}},
    {2, 4, {0, 4, 8}},
    {4, 2, {0, 2, 4, 6, 8}},
    {6, 1, {0, 2, 4, 5, 6, 7, 8}},
}};

bool ThreadPool::Share::isEmpty() const {
  const uint64_t range = range_.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(range) >= range >> 32;
}

std::optional<uint32_t> ThreadPool::Share::take(bool first) {
  uint64_t range = range_.load(std::memory_order_relaxed);
  for (;;) {
    const auto begin = static_cast<uint32_t>(range), end = static_cast<uint32_t>(range >> 32);
    if (begin >= end) return std::nullopt;
    const uint64_t rest = first ? packed(begin + 1, end) : packed(begin, end - 1);
    if (range_.compare_exchange_weak(range, rest)) return first ? begin : end - 1;
  }
}

ThreadPool::ThreadPool(int threads, size_t scratch_bytes) : process_(getpid()) {
  const auto sharers = static_cast<size_t>(std::max(threads, 1));
  for (Loop& loop : loops_) loop.shares = std::make_unique<Share[]>(sharers);
  workers_.reserve(sharers - 1);
  try {
    for (int64_t i = 1; i < threads; ++i) {
      workers_.emplace_back([this, i, scratch_bytes] {
        threadScratch(scratch_bytes);
        prepared_.fetch_add(1);
        work(i);
      });
    }
  } catch (const std::exception&) {
    // The machine has no more threads: the loops run on those there are.
  }
  while (prepared_.load() < workers_.size()) std::this_thread::yield();
}

ThreadPool::~ThreadPool() {
  if (process_ != getpid()) {
    new std::vector<std::thread>(std::move(workers_));  // neither to be joined nor let go
    return;
  }
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
  grain = std::max<int64_t>(grain, 1);
  Loop* loop = tasks >= 2 * grain && !workers_.empty() && !inside_task ? takeLoop() : nullptr;
  if (!loop) return fn(context, 0, tasks);
  loop->fn = fn;
  loop->context = context;
  loop->isa = kernels::chosenIsa();
  loop->divide(tasks, grain, threads());
  loop->active.store(true);
  wakeWorkers(loop->sharers);
  runChunks(*loop, 0);
  finish(*loop);
}

void ThreadPool::wakeWorkers(int64_t sharers) {
  epoch_.fetch_add(1);
  int64_t sleepers = sleepers_.load();
  if (sleepers == 0) return;
  if (sharers > sleepers) return epoch_.notify_all();
  for (int64_t i = 1; i < sharers; ++i) epoch_.notify_one();  // the caller is one
}

void ThreadPool::Loop::divide(int64_t count, int64_t grain, int64_t threads) {
  tasks = count;
  sharers = std::min(tasks / grain, threads);
  const int64_t largest = (tasks - 1) / sharers + 1;  // share
  cuts = kCuts.data();
  while (cuts + 1 < kCuts.data() + kCuts.size() && largest * cuts[1].least / 8 >= grain) ++cuts;
  for (int64_t k = 0; k < sharers; ++k) share(k).set(0, static_cast<uint32_t>(cuts->count));
}

bool ThreadPool::Loop::hasChunks() const {
  for (int64_t k = 0; k < sharers; ++k) {
    if (!share(k).isEmpty()) return true;
  }
  return false;
}

void ThreadPool::Loop::run(int64_t of_share, int64_t chunk) const {
  auto firstOf = [&](int64_t k) { return tasks / sharers * k + tasks % sharers * k / sharers; };
  const int64_t first = firstOf(of_share), size = firstOf(of_share + 1) - first;
  auto cut = [&](int64_t k) { return size - size * (8 - cuts->at[static_cast<size_t>(k)]) / 8; };
  if (cut(chunk) < cut(chunk + 1)) fn(context, first + cut(chunk), first + cut(chunk + 1));
}

// As the thread `self`: its own share, then what is left of the others'.
void ThreadPool::runChunks(Loop& loop, int64_t self) {
  const bool outer = inside_task;
  inside_task = true;
  for (int64_t k = 0; k < loop.sharers; ++k) {
    const int64_t of_share = (self + k) % loop.sharers;
    Share& share = loop.share(of_share);
    const bool own = of_share == self;
    while (std::optional<uint32_t> chunk = share.take(own)) loop.run(of_share, *chunk);
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

bool ThreadPool::joinAny(int64_t self) {
  bool joined = false;
  for (Loop& loop : loops_) {
    if (!loop.active.load(std::memory_order_relaxed)) continue;
    loop.users.fetch_add(1);
    if (loop.active.load() && loop.hasChunks()) {
      joined = true;
      const kernels::IsaScope scope(loop.isa);
      runChunks(loop, self);
    }
    loop.users.fetch_sub(1);
    loop.users.notify_all();
  }
  return joined;
}

void ThreadPool::work(int64_t self) {
  uint32_t seen = epoch_.load();
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (joinAny(self)) continue;
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
