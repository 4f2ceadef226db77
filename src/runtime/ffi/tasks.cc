#include "runtime/ffi/tasks.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tercel::ffi {
namespace {

class TaskThreads {
 public:
  // False where there is no thread to run it.
  bool add(XLA_FFI_Task* task, void* data, int limit) {
    {
      std::lock_guard lock(mutex_);
      if (idle_ <= static_cast<int>(tasks_.size()) && threads_ < limit) start();
      if (threads_ == 0) return false;
      tasks_.emplace_back(task, data);
    }
    wake_.notify_one();
    return true;
  }

 private:
  void start() try {
    std::thread([this] { work(); }).detach();
    ++threads_;
  } catch (const std::system_error&) {
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(lock, [this] { return !tasks_.empty(); });
      --idle_;
      auto [task, data] = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      task(data);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<XLA_FFI_Task*, void*>> tasks_;
  int threads_ = 0;
  int idle_ = 0;
};

}  // namespace

void schedule(XLA_FFI_Task* task, void* data, int threads) {
  static TaskThreads& workers = *new TaskThreads;  // never destroyed: they run on to the end
  if (!workers.add(task, data, threads)) task(data);
}

}  // namespace tercel::ffi
