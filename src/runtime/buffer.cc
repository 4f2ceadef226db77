#include "runtime/buffer.h"

#include <cstring>

#include "runtime/device.h"
#include "runtime/strided_copy.h"

namespace tercel::runtime {
namespace {

Status deleted() { return invalidArgument("the buffer has been deleted or donated"); }

// Calls copy(bytes) when the source is ready, on whichever thread makes it so.
template <class Copy>
Event copyWhenReady(std::shared_ptr<Storage> source, Copy copy) {
  Event ready = source->ready();
  if (ready.isReady()) {
    Status status = ready.status();
    if (status.ok()) copy(source->data());
    return Event(status);
  }
  Event done = Event::pending();
  ready.onReady([=, source = std::move(source)](const Status& status) {
    if (status.ok()) copy(source->data());
    done.set(status);
  });
  return done;
}

Event copyBytesWhenReady(std::shared_ptr<Storage> source, void* dst, int64_t offset, int64_t size) {
  return copyWhenReady(std::move(source), [dst, offset, size](const void* from) {
    if (size == 0) return;
    std::memcpy(dst, static_cast<const std::byte*>(from) + offset, static_cast<size_t>(size));
  });
}

}  // namespace

Buffer::Buffer(BufferType type, Memory* memory, std::shared_ptr<Storage> storage)
    : type_(std::move(type)),
      bytes_(type_.shape.bytes()),
      memory_(memory),
      storage_(std::move(storage)) {}

Buffer::~Buffer() = default;

std::shared_ptr<Storage> Buffer::storage() const {
  std::lock_guard lock(mutex_);
  return storage_;
}

Event Buffer::ready() const {
  std::shared_ptr<Storage> storage = this->storage();
  return storage ? storage->ready() : Event(deleted());
}

Result<void*> Buffer::data() const {
  std::shared_ptr<Storage> storage = this->storage();
  if (!storage) return deleted();
  TERCEL_TRY(storage->ready().await());
  return storage->data();
}

void Buffer::deleteData() {
  std::shared_ptr<Storage> storage;  // released without the lock: callbacks may run
  std::lock_guard lock(mutex_);
  storage.swap(storage_);
}

bool Buffer::isDeleted() const {
  std::lock_guard lock(mutex_);
  return storage_ == nullptr;
}

Result<std::shared_ptr<Storage>> Buffer::donate() {
  std::lock_guard lock(mutex_);
  if (!storage_) return deleted();
  return std::move(storage_);
}

Status Buffer::increaseExternalReferences() {
  std::lock_guard lock(mutex_);
  if (external_references_ == 0) {
    if (!storage_) return deleted();
    external_storage_ = storage_;
  }
  ++external_references_;
  return Status();
}

Status Buffer::decreaseExternalReferences() {
  std::shared_ptr<Storage> storage;
  std::lock_guard lock(mutex_);
  if (external_references_ == 0) {
    return invalidArgument("the buffer has no external reference to drop");
  }
  if (--external_references_ == 0) storage.swap(external_storage_);
  return Status();
}

Result<Event> Buffer::copyToHost(void* dst, int64_t size, std::span<const int64_t> layout) const {
  if (size != bytes_) {
    return invalidArgument("a buffer of ", bytes_, " bytes does not fit a copy of ", size);
  }
  if (sameInMemory(shape().dims, layout, type_.layout)) return copyRawToHost(dst, 0, size);
  std::shared_ptr<Storage> storage = this->storage();
  if (!storage) return deleted();
  return copyWhenReady(std::move(storage),
                       [dst, type = type_, order = Dims(layout)](const void* from) {
                         copyToLayout(from, type, dst, order);
                       });
}

Result<Event> Buffer::copyRawToHost(void* dst, int64_t offset, int64_t size) const {
  std::shared_ptr<Storage> storage = this->storage();
  if (!storage) return deleted();
  if (offset < 0 || size < 0 || offset > bytes_ || size > bytes_ - offset) {
    return invalidArgument("bytes ", offset, " to ", offset, " + ", size,
                           " are not in a buffer of ", bytes_, " bytes");
  }
  return copyBytesWhenReady(std::move(storage), dst, offset, size);
}

Result<std::unique_ptr<Buffer>> Buffer::copyTo(Memory* memory) const {
  std::shared_ptr<Storage> source = storage();
  if (!source) return deleted();
  Event ready = source->ready();
  Event copied = ready.isReady() ? Event() : Event::pending();
  if (ready.isReady() && !ready.status().ok()) {
    return std::make_unique<Buffer>(type_, memory, Storage::promised(bytes_, ready));
  }
  TERCEL_ASSIGN(std::shared_ptr<Storage> target,
                Storage::allocate(memory->device()->allocator(), bytes_, copied));
  Event done = copyBytesWhenReady(std::move(source), target->data(), 0, bytes_);
  // The target is kept alive until it has been written, even if its buffer is dropped before.
  if (!copied.isReady()) done.onReady([copied, target](const Status& s) { copied.set(s); });
  return std::make_unique<Buffer>(type_, memory, std::move(target));
}

Result<std::unique_ptr<Buffer>> Buffer::bitcast(ArrayType type) const {
  std::shared_ptr<Storage> storage = this->storage();
  if (!storage) return deleted();
  if (type.shape.bytes() != bytes_) {
    return invalidArgument("a buffer of ", bytes_, " bytes cannot be seen as ", toString(type));
  }
  return std::make_unique<Buffer>(std::move(type), memory_, std::move(storage));
}

Result<std::unique_ptr<Buffer>> Buffer::donateAfter(const Event& dependency) {
  TERCEL_ASSIGN(std::shared_ptr<Storage> source, donate());
  Event ready = Event::pending();
  std::shared_ptr<Storage> target = Storage::promised(bytes_, ready);
  Event both[] = {source->ready(), dependency};
  Event::all(both).onReady([ready, target, source = std::move(source)](const Status& status) {
    if (status.ok()) target->takeOver(source);
    ready.set(status);
  });
  return std::make_unique<Buffer>(type_, memory_, std::move(target));
}

}  // namespace tercel::runtime
