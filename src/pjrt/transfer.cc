// Host to device in pieces.
#include <cstring>

#include "pjrt/element_type.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"
#include "pjrt/layout.h"
#include "runtime/strided_copy.h"

struct PJRT_AsyncHostToDeviceTransferManager {
  struct Slot {
    Slot(tercel::ArrayType t, tercel::runtime::PendingBuffer p)
        : type(std::move(t)), pending(std::move(p)) {}
    // A buffer that nobody will fill any more is an error, not a wait without end.
    ~Slot() {
      if (!pending.storage) return;
      pending.ready.set({tercel::Code::cancelled, "the transfer was never finished"});
    }
    Slot(Slot&&) = default;

    tercel::ArrayType type;
    tercel::runtime::PendingBuffer pending;
  };

  tercel::pjrt::ClientRef client;
  PJRT_Device* device;
  std::mutex mutex;
  std::vector<Slot> slots;
};

namespace tercel::pjrt {
namespace {

using Manager = PJRT_AsyncHostToDeviceTransferManager;

Result<Manager::Slot*> slotOf(Manager& manager, int index) {
  if (index < 0 || index >= static_cast<int>(manager.slots.size())) {
    return invalidArgument("buffer index ", index, " is not in [0, ", manager.slots.size(), ")");
  }
  return &manager.slots[static_cast<size_t>(index)];
}

Status checkTransfer(const Manager::Slot& slot, const void* data, int64_t offset, int64_t size) {
  const int64_t bytes = slot.type.shape.bytes();
  if (offset < 0 || size < 0 || offset > bytes || size > bytes - offset) {
    return invalidArgument("a transfer of ", size, " bytes to offset ", offset, " of a buffer of ",
                           bytes, " bytes");
  }
  if (slot.pending.ready.isReady()) {
    return failedPrecondition("a transfer to a buffer that is complete");
  }
  return data || size == 0 ? Status() : invalidArgument("data is null");
}

// Bytes in the order that the buffer has.
Status copyInto(Manager::Slot& slot, const void* data, int64_t offset, int64_t size) {
  TERCEL_TRY(checkTransfer(slot, data, offset, size));
  if (size == 0) return {};
  std::memcpy(static_cast<char*>(slot.pending.storage->data()) + offset, data,
              static_cast<size_t>(size));
  return {};
}

Status createSlots(const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args,
                   runtime::Memory* memory, Manager& manager) {
  for (size_t i = 0; i < args.num_shape_specs; ++i) {
    const PJRT_ShapeSpec& spec = args.shape_specs[i];
    ArrayType type;
    TERCEL_ASSIGN(type.shape, unwrapShape(spec.element_type, spec.dims, spec.num_dims));
    if (args.device_layouts && i < args.num_device_layouts) {
      TERCEL_ASSIGN(type.layout, unwrap(args.device_layouts[i], type.shape));
    }
    TERCEL_ASSIGN(auto pending, manager.client->client->createPending(type, memory));
    manager.slots.emplace_back(std::move(type), std::move(pending));
  }
  return {};
}

}  // namespace

Status Client_CreateBuffersForAsyncHostToDevice(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) {
  if (!args.shape_specs && args.num_shape_specs != 0) {
    return invalidArgument("shape_specs is null");
  }
  const ClientRef& client = args.client->state;
  TERCEL_ASSIGN(runtime::Memory * memory, memoryOf(*client, args.memory, nullptr));
  auto manager = std::make_unique<Manager>();
  manager->client = client;
  manager->device = client->wrap(memory->device());
  TERCEL_TRY(createSlots(args, memory, *manager));
  args.transfer_manager = manager.release();
  return {};
}

Status AsyncHostToDeviceTransferManager_Destroy(
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args& args) {
  delete args.transfer_manager;
  return {};
}

Status AsyncHostToDeviceTransferManager_TransferData(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  const std::lock_guard lock(args.transfer_manager->mutex);
  TERCEL_ASSIGN(auto* slot, slotOf(*args.transfer_manager, args.buffer_index));
  TERCEL_TRY(copyInto(*slot, args.data, args.offset, args.transfer_size));
  args.done_with_h2d_transfer = wrap(runtime::Event());
  if (args.is_last_transfer) slot->pending.ready.set({});
  return {};
}

Status AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  ArrayType literal;
  TERCEL_ASSIGN(literal.shape,
                unwrapShape(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  TERCEL_ASSIGN(literal.layout, unwrap(args.shape_layout, literal.shape));
  const std::lock_guard lock(args.transfer_manager->mutex);
  TERCEL_ASSIGN(auto* slot, slotOf(*args.transfer_manager, args.buffer_index));
  if (literal.shape != slot->type.shape) {
    return invalidArgument("a literal ", toString(literal), " for a buffer ",
                           toString(slot->type));
  }
  TERCEL_TRY(checkTransfer(*slot, args.data, 0, literal.shape.bytes()));
  runtime::copyToLayout(args.data, literal, slot->pending.storage->data(), slot->type.layout);
  args.done_with_h2d_transfer = wrap(runtime::Event());
  slot->pending.ready.set({});
  return {};
}

Status AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args& args) {
  const std::lock_guard lock(args.transfer_manager->mutex);
  TERCEL_ASSIGN(auto* slot, slotOf(*args.transfer_manager, args.buffer_index));
  if (!slot->pending.buffer) {
    return invalidArgument("buffer ", args.buffer_index, " was retrieved already");
  }
  args.buffer_out = wrap(args.transfer_manager->client, std::move(slot->pending.buffer));
  return {};
}

Status AsyncHostToDeviceTransferManager_Device(
    PJRT_AsyncHostToDeviceTransferManager_Device_Args& args) {
  args.device_out = args.transfer_manager->device;
  return {};
}

Status AsyncHostToDeviceTransferManager_BufferCount(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args& args) {
  args.buffer_count = args.transfer_manager->slots.size();
  return {};
}

Status AsyncHostToDeviceTransferManager_BufferSize(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args& args) {
  TERCEL_ASSIGN(const auto* slot, slotOf(*args.transfer_manager, args.buffer_index));
  args.buffer_size = static_cast<size_t>(slot->type.shape.bytes());
  return {};
}

Status AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args& args) {
  const std::lock_guard lock(args.transfer_manager->mutex);
  TERCEL_ASSIGN(auto* slot, slotOf(*args.transfer_manager, args.buffer_index));
  Status error(codeFrom(args.error_code),
               std::string(textOf(args.error_message, args.error_message_size)));
  if (error.ok()) return invalidArgument("error_code is OK");
  slot->pending.ready.set(std::move(error));
  return {};
}

// Metadata is for debugging; nothing here reads it.
Status AsyncHostToDeviceTransferManager_AddMetadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args&) {
  return {};
}

}  // namespace tercel::pjrt
