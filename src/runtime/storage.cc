#include "runtime/storage.h"

#include <utility>

namespace tercel::runtime {

Result<std::shared_ptr<Storage>> Storage::allocate(Allocator& allocator, int64_t bytes,
                                                   Event ready) {
  std::shared_ptr<Storage> storage = promised(bytes, std::move(ready));
  TERCEL_TRY(storage->fill(allocator));
  return storage;
}

std::shared_ptr<Storage> Storage::foreign(void* data, int64_t bytes,
                                          std::function<void()> on_delete) {
  std::shared_ptr<Storage> storage = promised(bytes, Event());
  storage->data_ = data;
  storage->on_delete_ = std::move(on_delete);
  return storage;
}

std::shared_ptr<Storage> Storage::promised(int64_t bytes, Event ready) {
  struct Access : Storage {
    Access(int64_t bytes, Event ready) : Storage(bytes, std::move(ready)) {}
  };
  return std::make_shared<Access>(bytes, std::move(ready));
}

Storage::~Storage() { release(); }

void Storage::release() {
  if (allocator_) allocator_->free(data_, bytes_);
  if (on_delete_) on_delete_();
  data_ = nullptr;
  allocator_ = nullptr;
  on_delete_ = nullptr;
  base_ = nullptr;
}

Status Storage::fill(Allocator& allocator) {
  TERCEL_ASSIGN(data_, allocator.allocate(bytes_));
  allocator_ = &allocator;
  return Status();
}

bool Storage::steal(const std::shared_ptr<Storage>& other) {
  if (other.use_count() != 1 || !other->allocator_) return false;
  // use_count() orders nothing. Dropping another reference does: after it, what the last other
  // holder read before it let go has been read.
  std::shared_ptr<Storage>(other).reset();
  TERCEL_CHECK(other->bytes_ == bytes_, "donated memory has another size");
  data_ = std::exchange(other->data_, nullptr);
  allocator_ = std::exchange(other->allocator_, nullptr);
  return true;
}

void Storage::share(std::shared_ptr<Storage> other) {
  TERCEL_CHECK(other->bytes_ == bytes_);
  data_ = other->data_;
  base_ = std::move(other);
}

void Storage::takeOver(const std::shared_ptr<Storage>& other) {
  if (!steal(other)) share(other);
}

}  // namespace tercel::runtime
