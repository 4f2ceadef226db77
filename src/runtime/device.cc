#include "runtime/device.h"

namespace tercel::runtime {
namespace {

thread_local bool on_queue_thread = false;

constexpr int kMemoryKinds = 0
#define MEMORY_KIND(name) +1
#include "runtime/memory_kinds.def"
    ;

}  // namespace

Device::Device(Client* client, int id, int64_t memory_limit, Poison poison)
    : client_(client),
      id_(id),
      kind_("Tercel CPU"),
      debug_string_(cat("TercelDevice(id=", id, ")")),
      to_string_(cat("tercel:", id)),
      allocator_(memory_limit, poison) {
  for (int kind = 0; kind < kMemoryKinds; ++kind) {
    memories_.push_back(
        std::make_unique<Memory>(id * kMemoryKinds + kind, static_cast<MemoryKind>(kind), this));
    memory_pointers_.push_back(memories_.back().get());
  }
}

Device::~Device() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Device::onQueueThread() { return on_queue_thread; }

void Device::enqueue(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    // First, since the machine may have no more threads: then nothing has been queued.
    if (!thread_.joinable()) thread_ = std::thread([this] { drain(); });
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void Device::drain() {
  on_queue_thread = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before the next work starts, and without the lock
    lock.lock();
  }
}

}  // namespace tercel::runtime
