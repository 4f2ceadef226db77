// The ways to make a buffer.
#include "pjrt/element_type.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"
#include "pjrt/layout.h"

// What is left of an alias once its buffer has been handed out.
struct PJRT_FulfillAliasBufferCallback {
  tercel::runtime::PendingBuffer alias;
};

namespace tercel::pjrt {
namespace {

// The parts that every way has in common.
struct Target {
  ArrayType type;
  runtime::Memory* memory;
};

Result<Target> targetOf(const PJRT_Client& client, PJRT_Buffer_Type type, const int64_t* dims,
                        size_t num_dims, const PJRT_Buffer_MemoryLayout* layout,
                        PJRT_Memory* memory, PJRT_Device* device) {
  TERCEL_ASSIGN(Shape shape, unwrapShape(type, dims, num_dims));
  TERCEL_ASSIGN(Dims order, unwrap(layout, shape));
  TERCEL_ASSIGN(runtime::Memory * place, memoryOf(*client.state, memory, device));
  return Target{{std::move(shape), std::move(order)}, place};
}

Status checkHostArray(const PJRT_Client_BufferFromHostBuffer_Args& args) {
  if (args.byte_strides && args.num_byte_strides != args.num_dims) {
    return invalidArgument(args.num_byte_strides, " byte strides for ", args.num_dims,
                           " dimensions");
  }
  if (args.host_buffer_semantics < PJRT_HostBufferSemantics_kImmutableOnlyDuringCall ||
      args.host_buffer_semantics > PJRT_HostBufferSemantics_kMutableZeroCopy) {
    return invalidArgument("host_buffer_semantics is ",
                           static_cast<int>(args.host_buffer_semantics));
  }
  return {};
}

}  // namespace

Status Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args& args) {
  TERCEL_TRY(checkHostArray(args));
  TERCEL_ASSIGN(Target target, targetOf(*args.client, args.type, args.dims, args.num_dims,
                                        args.device_layout, args.memory, args.device));
  runtime::HostArray array{args.data, std::move(target.type)};
  if (!array.data && array.type.shape.elements() != 0) return invalidArgument("data is null");
  if (args.byte_strides) {
    array.byte_strides = Dims(args.byte_strides, args.byte_strides + args.num_byte_strides);
  }
  array.semantics = static_cast<runtime::HostSemantics>(args.host_buffer_semantics);
  const ClientRef& state = args.client->state;
  TERCEL_ASSIGN(auto transfer, state->client->bufferFromHost(array, target.memory));
  EventPtr done(wrap(std::move(transfer.done_with_host)));
  args.buffer = wrap(state, std::move(transfer.buffer));
  args.done_with_host_buffer = done.release();
  return {};
}

Status Client_CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args& args) {
  using Args = PJRT_Client_CreateViewOfDeviceBuffer_Args;
  PJRT_Memory* const memory = covers(args, &Args::memory) ? args.memory : nullptr;
  TERCEL_ASSIGN(Target target, targetOf(*args.client, args.element_type, args.dims, args.num_dims,
                                        args.layout, memory, args.device));
  std::function<void()> on_delete;
  if (args.on_delete_callback) {
    on_delete = [callback = args.on_delete_callback, data = args.device_buffer_ptr,
                 user_arg = args.on_delete_callback_arg] { callback(data, user_arg); };
  }
  const ClientRef& state = args.client->state;
  TERCEL_ASSIGN(auto buffer, state->client->viewOf(args.device_buffer_ptr, target.type,
                                                   target.memory, std::move(on_delete)));
  args.buffer = wrap(state, std::move(buffer));
  return {};
}

Status Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args& args) {
  TERCEL_ASSIGN(Target target,
                targetOf(*args.client, args.shape_element_type, args.shape_dims,
                         args.shape_num_dims, args.shape_layout, args.memory, args.device));
  const ClientRef& state = args.client->state;
  TERCEL_ASSIGN(auto buffer, state->client->createUninitialized(target.type, target.memory));
  args.buffer = wrap(state, std::move(buffer));
  return {};
}

Status Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args& args) {
  TERCEL_ASSIGN(Target target,
                targetOf(*args.client, args.shape_element_type, args.shape_dims,
                         args.shape_num_dims, args.shape_layout, args.memory, nullptr));
  Status error(codeFrom(args.error_code),
               std::string(textOf(args.error_message, args.error_message_size)));
  if (error.ok()) return invalidArgument("error_code is OK");
  const ClientRef& state = args.client->state;
  TERCEL_ASSIGN(auto buffer,
                state->client->createError(std::move(error), target.type, target.memory));
  args.buffer = wrap(state, std::move(buffer));
  return {};
}

Status Client_CreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args& args) {
  TERCEL_ASSIGN(Target target,
                targetOf(*args.client, args.shape_element_type, args.shape_dims,
                         args.shape_num_dims, args.shape_layout, args.memory, nullptr));
  const ClientRef& state = args.client->state;
  TERCEL_ASSIGN(auto alias, state->client->createAlias(target.type, target.memory));
  runtime::BufferPtr buffer = std::move(alias.buffer);
  auto callback = std::make_unique<PJRT_FulfillAliasBufferCallback>(std::move(alias));
  args.alias_buffer = wrap(state, std::move(buffer));
  args.fulfill_alias_buffer_cb = callback.release();
  return {};
}

// Consumes the callback, whatever comes of it.
Status Client_FulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args& args) {
  const std::unique_ptr<PJRT_FulfillAliasBufferCallback> callback(args.fulfill_alias_buffer_cb);
  const Code code = codeFrom(args.status_code);
  if (code != Code::ok) {
    callback->alias.ready.set(
        Status(code, std::string(textOf(args.error_message, args.error_message_size))));
    return {};
  }
  if (!args.buffer) return invalidArgument("buffer is null");
  return args.client->state->client->fulfill(callback->alias, *args.buffer->buffer);
}

}  // namespace tercel::pjrt
