#include "runtime/client.h"

#include <unistd.h>

#include <cstring>

#include "core/log.h"
#include "runtime/engine/host.h"
#include "runtime/engine/thread_pool.h"
#include "runtime/kernels/kept_memory.h"
#include "runtime/strided_copy.h"

namespace tercel::runtime {
namespace {

// What XLA's and other consumers of zero-copied memory expect too.
constexpr uintptr_t kZeroCopyAlign = 64;
constexpr uintptr_t kViewAlign = 16;  // of the largest element
// Of working memory: whoever calls Python functions has other uses for what a large sort needed.
constexpr size_t kKeptBlock = size_t{4} << 20;

bool isAliasable(const HostArray& array, const Shape& shape,
                 std::span<const int64_t> byte_strides) {
  bool allowed = array.semantics == HostSemantics::immutable_zero_copy ||
                 array.semantics == HostSemantics::mutable_zero_copy;
  return allowed && reinterpret_cast<uintptr_t>(array.data) % kZeroCopyAlign == 0 &&
         isDense(shape, byte_strides);
}

}  // namespace

Client::Client(const Options& options) : options_(options), process_(getpid()) {}

// A process that fork() made has none of the threads, for which a device would wait.
Client::~Client() {
  if (process_ == getpid()) return;
  for (std::unique_ptr<Device>& device : devices_) device.release();
}

Result<std::unique_ptr<Client>> Client::create(const Options& options) try {
  kernels::keepBlocksUpTo(kKeptBlock);
  std::unique_ptr<Client> client(new Client(options));
  const engine::SubnormalScope scope(client->subnormals());
  client->pool_ = std::make_unique<engine::ThreadPool>(engine::threadsFor(options.num_threads));
  for (int id = 0; id < options.num_devices; ++id) {
    client->devices_.push_back(std::make_unique<Device>(client.get(), id, options.memory_limit,
                                                        static_cast<Poison>(options.poison)));
    Device* device = client->devices_.back().get();
    client->device_pointers_.push_back(device);
    for (Memory* memory : device->memories()) client->memory_pointers_.push_back(memory);
  }
  TERCEL_LOG(info, "client with ", options.num_devices, " devices and ", client->pool_->threads(),
             " threads");
  return client;
} catch (const std::exception& exception) {
  return resourceExhausted("cannot create the client: ", exception.what());
}

Result<Device*> Client::lookupDevice(int id) const {
  if (id < 0 || static_cast<size_t>(id) >= device_pointers_.size()) {
    return invalidArgument("No matching device found for device_id ", id);
  }
  return device_pointers_[static_cast<size_t>(id)];
}

Status Client::checkType(const ArrayType& type, const Memory* memory) const {
  if (!memory || memory->device()->client() != this) {
    return invalidArgument("the memory is not this client's");
  }
  const Shape& shape = type.shape;
  if (!sizeIsRepresentable(shape.dims, byteSize(shape.dtype))) {
    return invalidArgument("impossible shape ", toString(shape));
  }
  if (!type.layout.empty() && !isLayout(type.layout, shape.dims.size())) {
    return invalidArgument("the layout ", layoutText(type.layout, type.layout.size()), " of ",
                           toString(shape));
  }
  return Status();
}

Result<HostTransfer> Client::bufferFromHost(const HostArray& array, Memory* memory) {
  TERCEL_TRY(checkType(array.type, memory));
  const Shape& shown = array.type.shape;
  const Dims given = array.byte_strides.value_or(byteStrides(shown));
  if (given.size() != shown.dims.size()) {
    return invalidArgument(given.size(), " byte strides for ", toString(shown));
  }
  const Shape shape = array.type.inMemory();
  const Dims strides = memoryOrder(given, array.type.layout);
  int64_t bytes = shape.bytes();
  if (!array.data && bytes > 0) return invalidArgument("no host data for the buffer");
  if (bytes > 0 && isAliasable(array, shape, strides)) {
    Event done = Event::pending();
    TERCEL_ASSIGN(BufferPtr buffer, viewOf(const_cast<void*>(array.data), array.type, memory,
                                           [done] { done.set(Status()); }));
    return HostTransfer{std::move(buffer), done};
  }
  TERCEL_ASSIGN(std::shared_ptr<Storage> storage,
                Storage::allocate(memory->device()->allocator(), bytes));
  copyStrided(array.data, shape, strides, storage->data(), pool_->parallel());
  return HostTransfer{std::make_unique<Buffer>(array.type, memory, std::move(storage)), Event()};
}

Result<BufferPtr> Client::createUninitialized(const ArrayType& type, Memory* memory) {
  TERCEL_TRY(checkType(type, memory));
  TERCEL_ASSIGN(std::shared_ptr<Storage> storage,
                Storage::allocate(memory->device()->allocator(), type.shape.bytes()));
  return std::make_unique<Buffer>(type, memory, std::move(storage));
}

Result<PendingBuffer> Client::createPending(const ArrayType& type, Memory* memory) {
  TERCEL_TRY(checkType(type, memory));
  Event ready = Event::pending();
  TERCEL_ASSIGN(std::shared_ptr<Storage> storage,
                Storage::allocate(memory->device()->allocator(), type.shape.bytes(), ready));
  return PendingBuffer{std::make_unique<Buffer>(type, memory, storage), storage, ready};
}

Result<PendingBuffer> Client::createAlias(const ArrayType& type, Memory* memory) {
  TERCEL_TRY(checkType(type, memory));
  Event ready = Event::pending();
  std::shared_ptr<Storage> storage = Storage::promised(type.shape.bytes(), ready);
  return PendingBuffer{std::make_unique<Buffer>(type, memory, storage), storage, ready};
}

Status Client::fulfill(const PendingBuffer& alias, const Buffer& source) {
  std::shared_ptr<Storage> from = source.storage();
  if (!from) return invalidArgument("an alias cannot be fulfilled by a deleted buffer");
  if (from->bytes() != alias.storage->bytes()) {
    return invalidArgument("an alias of ", alias.storage->bytes(), " bytes cannot be fulfilled by ",
                           toString(source.shape()));
  }
  Event ready = from->ready();
  ready.onReady([from, target = alias.storage, done = alias.ready](const Status& status) {
    if (done.isReady()) return;
    if (status.ok()) target->share(from);
    done.set(status);
  });
  return Status();
}

Result<BufferPtr> Client::createError(Status error, const ArrayType& type, Memory* memory) {
  TERCEL_TRY(checkType(type, memory));
  if (error.ok()) return invalidArgument("an error buffer needs an error");
  return std::make_unique<Buffer>(type, memory,
                                  Storage::promised(type.shape.bytes(), Event(error)));
}

Result<BufferPtr> Client::viewOf(void* data, const ArrayType& type, Memory* memory,
                                 std::function<void()> on_delete) {
  TERCEL_TRY(checkType(type, memory));
  // jaxlib knows by these words that it may copy instead.
  if (const auto address = reinterpret_cast<uintptr_t>(data); address % kViewAlign != 0)
    return invalidArgument("a view of memory at ", address, ", which is not aligned to ", kViewAlign,
                           " bytes");
  return std::make_unique<Buffer>(type, memory,
                                  Storage::foreign(data, type.shape.bytes(), std::move(on_delete)));
}

}  // namespace tercel::runtime
