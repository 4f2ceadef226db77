// The bytes behind buffers: counted by shared_ptr, written before `ready` and never after, except
// by a program that took them over as a donation.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

#include "runtime/allocator.h"
#include "runtime/event.h"

namespace tercel::runtime {

class Storage {
 public:
  // Fresh memory of `allocator`, ready when `ready` is.
  static Result<std::shared_ptr<Storage>> allocate(Allocator& allocator, int64_t bytes,
                                                   Event ready = Event());
  // Somebody else's memory: never written, `on_delete` runs with the last reference.
  static std::shared_ptr<Storage> foreign(void* data, int64_t bytes,
                                          std::function<void()> on_delete);
  // Without memory until whoever makes it ready fills it.
  static std::shared_ptr<Storage> promised(int64_t bytes, Event ready);

  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Null for a promised or failed one. Valid once ready.
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  const Event& ready() const { return ready_; }

  // Of a promised storage, before its event is set: memory of its own,
  Status fill(Allocator& allocator);
  // that of `other`, which the caller alone holds and which loses it: false, and nothing happens,
  // where others hold it too or it is not an allocator's,
  bool steal(const std::shared_ptr<Storage>& other);
  // that of `other`, shared,
  void share(std::shared_ptr<Storage> other);
  // or whichever of the two is possible.
  void takeOver(const std::shared_ptr<Storage>& other);

 private:
  Storage(int64_t bytes, Event ready) : bytes_(bytes), ready_(std::move(ready)) {}
  void release();

  void* data_ = nullptr;
  int64_t bytes_;
  Event ready_;
  Allocator* allocator_ = nullptr;
  std::function<void()> on_delete_;
  std::shared_ptr<Storage> base_;  // of shared memory
};

}  // namespace tercel::runtime
