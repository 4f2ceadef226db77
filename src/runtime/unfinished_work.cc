#include "runtime/unfinished_work.h"

#include <mutex>
#include <set>
#include <utility>

#include "runtime/ffi/tercel_ffi.h"

namespace tercel::runtime {
namespace {

struct Numbers {
  std::mutex mutex;
  std::set<int64_t> unfinished;
  int64_t last = 0;
};

Numbers& numbers() {
  static Numbers& all = *new Numbers;  // never destroyed: queues run on to the end
  return all;
}

int64_t takeNumber() {
  Numbers& all = numbers();
  std::lock_guard lock(all.mutex);
  all.unfinished.insert(all.last + 1);
  return ++all.last;
}

}  // namespace

UnfinishedWork::UnfinishedWork() : number_(takeNumber()) {}

UnfinishedWork::UnfinishedWork(UnfinishedWork&& other) noexcept
    : number_(std::exchange(other.number_, 0)) {}

UnfinishedWork::~UnfinishedWork() {
  if (number_ == 0) return;
  Numbers& all = numbers();
  std::lock_guard lock(all.mutex);
  all.unfinished.erase(number_);
}

}  // namespace tercel::runtime

extern "C" int64_t tercel_ffi_last_work() {
  auto& all = tercel::runtime::numbers();
  std::lock_guard lock(all.mutex);
  return all.last;
}

extern "C" int tercel_ffi_is_unfinished(int64_t last) {
  auto& all = tercel::runtime::numbers();
  std::lock_guard lock(all.mutex);
  return !all.unfinished.empty() && *all.unfinished.begin() <= last;
}
