// What an asynchronous handler returns in its frame, and later makes ready.
#pragma once
#include <condition_variable>
#include <mutex>

#include "core/status.h"
#include "runtime/ffi/abi.h"

struct XLA_FFI_Future {
 public:
  void set(tercel::Status status) {
    std::lock_guard lock(mutex_);  // to the end: await() may destroy the future after it
    status_ = std::move(status);
    ready_ = true;
    changed_.notify_all();
  }
  tercel::Status await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false;
  tercel::Status status_;
};
