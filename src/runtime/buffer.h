// An array on a device: immutable once ready, dense. Made by Client and Executable.
#pragma once
#include <memory>
#include <mutex>

#include "core/layout.h"
#include "core/status.h"
#include "runtime/event.h"
#include "runtime/memory.h"
#include "runtime/storage.h"

namespace tercel::runtime {

struct BufferType : ArrayType {
  BufferType(ArrayType array, bool token = false)
      : ArrayType(std::move(array)), is_token(token) {}

  bool is_token;  // its readiness is all there is to know of it
};

class Buffer {
 public:
  Buffer(BufferType type, Memory* memory, std::shared_ptr<Storage> storage);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const BufferType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  int64_t bytes() const { return bytes_; }
  Memory* memory() const { return memory_; }
  Device* device() const { return memory_->device(); }

  // Ready when the content is there; an error where it never will be. INVALID_ARGUMENT if deleted.
  Event ready() const;
  // The caller's hold on the bytes: null if deleted. Keeps them alive and unwritten.
  std::shared_ptr<Storage> storage() const;
  // Address of the bytes; waits until they are there. INVALID_ARGUMENT if deleted.
  Result<void*> data() const;

  // Gives up the bytes; running work that reads them keeps them until it is done. Idempotent.
  void deleteData();
  bool isDeleted() const;
  // Deletes the buffer and hands its bytes over. INVALID_ARGUMENT if deleted already.
  Result<std::shared_ptr<Storage>> donate();
  // While the count is above zero the bytes stay where they are and unwritten, even if the buffer
  // is deleted or donated meanwhile.
  Status increaseExternalReferences();
  Status decreaseExternalReferences();  // INVALID_ARGUMENT at zero

  // Into `dst`, in the order of `layout`; `size` must be bytes(). The event is ready when it is done;
  // the buffer may be deleted meanwhile. Errors of the buffer's own content travel on the event.
  Result<Event> copyToHost(void* dst, int64_t size, std::span<const int64_t> layout = {}) const;
  // `size` bytes from byte `offset` on; out of bounds -> INVALID_ARGUMENT.
  Result<Event> copyRawToHost(void* dst, int64_t offset, int64_t size) const;
  // A copy of its own in any memory of the client.
  Result<std::unique_ptr<Buffer>> copyTo(Memory* memory) const;
  // The same bytes as another type of the same size in bytes, shared.
  Result<std::unique_ptr<Buffer>> bitcast(ArrayType type) const;
  // Deletes this one; the result has its bytes and is ready after `dependency` too.
  Result<std::unique_ptr<Buffer>> donateAfter(const Event& dependency);

 private:
  const BufferType type_;
  const int64_t bytes_;
  Memory* const memory_;
  mutable std::mutex mutex_;
  std::shared_ptr<Storage> storage_;           // null: deleted
  std::shared_ptr<Storage> external_storage_;  // null: no external references
  int64_t external_references_ = 0;
};

using BufferPtr = std::unique_ptr<Buffer>;

}  // namespace tercel::runtime
