#include "runtime/device.h"

namespace tercel::runtime {
namespace {

thread_local Device* queue_of_thread = nullptr;
thread_local bool has_let_go = false;  // of the queue, during this work

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
  for (std::thread& thread : threads_) thread.join();
}

bool Device::onQueueThread() { return queue_of_thread != nullptr; }

void Device::letQueueGoOn() {
  Device* device = queue_of_thread;
  if (!device || has_let_go) return;
  {
    std::lock_guard lock(device->mutex_);
    if (device->idle_ == 0 && !device->stopping_) device->startThread();
    device->busy_ = false;
  }
  has_let_go = true;
  device->wake_.notify_one();
}

void Device::startThread() {
  threads_.emplace_back([this] { drain(); });
}

void Device::enqueue(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    // First, since the machine may have no more threads: then nothing has been queued.
    if (threads_.empty()) startThread();
    queue_.push_back({UnfinishedWork(), std::move(work)});
  }
  wake_.notify_one();
}

void Device::drain() {
  queue_of_thread = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return queue_.empty() ? stopping_ : !busy_; });
    --idle_;
    if (queue_.empty()) break;
    {
      Work work = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      has_let_go = false;
      work.run();
    }  // what it holds goes before the next work starts, and without the lock
    lock.lock();
    if (!has_let_go) busy_ = false;
  }
  wake_.notify_all();  // the others are to stop too
}

}  // namespace tercel::runtime
