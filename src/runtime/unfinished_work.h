// The work of all queues of the process that is not finished. Whoever is about to take away what such
// work may call, as an interpreter is at its end, waits for it first.
#pragma once
#include <cstdint>

namespace tercel::runtime {

// A piece of work, from when it is queued until this is destroyed.
class UnfinishedWork {
 public:
  UnfinishedWork();
  ~UnfinishedWork();
  UnfinishedWork(UnfinishedWork&& other) noexcept;
  UnfinishedWork& operator=(UnfinishedWork&&) = delete;

 private:
  int64_t number_;  // from 1, in the order of their making; 0 when moved from
};

}  // namespace tercel::runtime
