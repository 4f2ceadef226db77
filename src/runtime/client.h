// The root of the runtime: devices, memories, threads, and the ways to make a buffer.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "runtime/buffer.h"
#include "runtime/device.h"
#include "runtime/engine/runner.h"
#include "runtime/engine/subnormals.h"

namespace tercel::runtime {

// What may be assumed of a host's bytes; the numbers are PJRT_HostBufferSemantics'.
enum class HostSemantics : uint8_t {
  immutable_only_during_call = 0,
  immutable_until_transfer_completes = 1,
  immutable_zero_copy = 2,
  mutable_zero_copy = 3,
};

struct HostArray {
  const void* data = nullptr;  // of the element [0,0,...]
  ArrayType type;              // on the device
  std::optional<Dims> byte_strides;  // any, also zero and negative; absent: dense row-major
  HostSemantics semantics = HostSemantics::immutable_only_during_call;
};

struct HostTransfer {
  BufferPtr buffer;
  Event done_with_host;  // the host's bytes are no longer needed
};

struct PendingBuffer {
  BufferPtr buffer;
  std::shared_ptr<Storage> storage;  // of createPending: to be written before `ready` is set
  Event ready;                       // set() it, with an error where there is no content
};

class Client {
 public:
  static Result<std::unique_ptr<Client>> create(const Options& options);
  ~Client();  // its buffers and executables must be gone

  const Options& options() const { return options_; }
  // In the order of their ids, all addressable.
  const std::vector<Device*>& devices() const { return device_pointers_; }
  const std::vector<Memory*>& memories() const { return memory_pointers_; }
  // INVALID_ARGUMENT "No matching device found for device_id N".
  Result<Device*> lookupDevice(int id) const;
  engine::ThreadPool* pool() const { return pool_.get(); }
  // What every thread that runs its programs does with them.
  engine::Subnormals subnormals() const {
    return options_.flush_subnormals ? engine::Subnormals::flush : engine::Subnormals::keep;
  }

  // Aliases zero-copy arrays that lie as on the device and are 64-byte aligned, copies others before
  // it returns.
  Result<HostTransfer> bufferFromHost(const HostArray& array, Memory* memory);
  // Ready at once, content undefined.
  Result<BufferPtr> createUninitialized(const ArrayType& type, Memory* memory);
  // Content to be written later: with memory, for transfers,
  Result<PendingBuffer> createPending(const ArrayType& type, Memory* memory);
  // or without, to be filled by fulfill().
  Result<PendingBuffer> createAlias(const ArrayType& type, Memory* memory);
  // Makes an alias ready with the bytes of `source` when that is, or fails it with its error.
  Status fulfill(const PendingBuffer& alias, const Buffer& source);
  // Ready with `error`.
  Result<BufferPtr> createError(Status error, const ArrayType& type, Memory* memory);
  // Dense bytes that stay somebody else's and are never written by programs; `on_delete`
  // (may be empty) runs when they are no longer needed.
  Result<BufferPtr> viewOf(void* data, const ArrayType& type, Memory* memory,
                           std::function<void()> on_delete);

  // Held while a launch on several devices is queued, so that all queues see the same order.
  std::mutex& launchOrder() { return launch_order_; }

 private:
  explicit Client(const Options& options);
  Status checkType(const ArrayType& type, const Memory* memory) const;

  Options options_;
  pid_t process_;
  std::unique_ptr<engine::ThreadPool> pool_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> device_pointers_;
  std::vector<Memory*> memory_pointers_;
  std::mutex launch_order_;
};

}  // namespace tercel::runtime
