// A virtual device: its memories and the queue that its longer programs run on, one after another.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/allocator.h"
#include "runtime/memory.h"
#include "runtime/unfinished_work.h"

namespace tercel::runtime {

class Client;

class Device {
 public:
  Device(Client* client, int id, int64_t memory_limit, Poison poison);
  ~Device();  // runs what is queued, then stops the queue

  Client* client() const { return client_; }
  int id() const { return id_; }                // global; equal to its place in Client::devices
  int localHardwareId() const { return id_; }
  int processIndex() const { return 0; }
  const std::string& kind() const { return kind_; }
  const std::string& debugString() const { return debug_string_; }
  const std::string& toString() const { return to_string_; }

  // In the order of memory_kinds.def; [0] is the default.
  const std::vector<Memory*>& memories() const { return memory_pointers_; }
  Memory* defaultMemory() const { return memory_pointers_[0]; }
  Memory* memory(MemoryKind kind) const { return memory_pointers_[static_cast<size_t>(kind)]; }
  Allocator& allocator() { return allocator_; }  // of all its memories
  AllocatorStats memoryStats() const { return allocator_.stats(); }

  // Runs `work` on the queue's thread after everything queued before. Work must not throw.
  void enqueue(std::function<void()> work);
  // True on a thread of any device's queue: what runs there must not wait for a queue.
  static bool onQueueThread();
  // On a queue's thread, before it may wait for what is queued behind it: another thread runs the
  // queue from now on. Elsewhere it does nothing.
  static void letQueueGoOn();

 private:
  void startThread();
  void drain();

  Client* client_;
  int id_;
  std::string kind_;
  std::string debug_string_;
  std::string to_string_;
  Allocator allocator_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<Memory*> memory_pointers_;

  std::mutex mutex_;
  std::condition_variable wake_;
  struct Work {
    UnfinishedWork number;  // until `run` is gone, which may hold what calls others when it goes
    std::function<void()> run;
  };
  std::deque<Work> queue_;
  bool busy_ = false;  // a thread runs work and has not let the queue go on
  bool stopping_ = false;
  int idle_ = 0;
  std::vector<std::thread> threads_;  // the first is started with the first work
};

}  // namespace tercel::runtime
