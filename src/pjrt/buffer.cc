#include "runtime/buffer.h"

#include "pjrt/element_type.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"
#include "pjrt/layout.h"
#include "runtime/launch_habit.h"

namespace tercel::pjrt {
namespace {

runtime::Buffer& bufferOf(PJRT_Buffer* buffer) { return *buffer->buffer; }

}  // namespace

Status Buffer_Destroy(PJRT_Buffer_Destroy_Args& args) {
  delete args.buffer;
  return {};
}

Status Buffer_ElementType(PJRT_Buffer_ElementType_Args& args) {
  const runtime::BufferType& type = bufferOf(args.buffer).type();
  args.type = type.is_token ? PJRT_Buffer_Type_TOKEN : wrap(type.shape.dtype);
  return {};
}

Status Buffer_Dimensions(PJRT_Buffer_Dimensions_Args& args) {
  const Dims& dims = bufferOf(args.buffer).shape().dims;
  args.dims = dims.data();
  args.num_dims = dims.size();
  return {};
}

Status Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args& args) {
  const Dims& dims = bufferOf(args.buffer).shape().dims;
  args.unpadded_dims = dims.data();
  args.num_dims = dims.size();
  return {};
}

Status Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args& args) {
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
  return {};
}

Status Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args& args) {
  const ArrayType& type = bufferOf(args.buffer).type();
  const size_t rank = type.shape.dims.size();
  const int64_t* order = orderOf(type.layout, rank);
  if (!order) return unimplemented("layouts of rank ", rank);
  PJRT_Buffer_MemoryLayout& layout = args.layout;
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.extension_start = nullptr;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = {PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE, nullptr, order, rank};
  return {};
}

Status Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args& args) {
  args.on_device_size_in_bytes = static_cast<size_t>(bufferOf(args.buffer).bytes());
  return {};
}

Status Buffer_Device(PJRT_Buffer_Device_Args& args) {
  args.device = args.buffer->client->wrap(bufferOf(args.buffer).device());
  return {};
}

Status Buffer_Memory(PJRT_Buffer_Memory_Args& args) {
  args.memory = args.buffer->client->wrap(bufferOf(args.buffer).memory());
  return {};
}

Status Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args& args) {
  args.is_on_cpu = true;
  return {};
}

Status Buffer_Delete(PJRT_Buffer_Delete_Args& args) {
  bufferOf(args.buffer).deleteData();
  return {};
}

Status Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args& args) {
  args.is_deleted = bufferOf(args.buffer).isDeleted();
  return {};
}

Status Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args& args) {
  runtime::noteWait();
  args.event = wrap(bufferOf(args.buffer).ready());
  return {};
}

Status Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args& args) {
  TERCEL_ASSIGN(void* data, bufferOf(args.buffer).data());
  args.buffer_pointer = reinterpret_cast<uintptr_t>(data);
  return {};
}

Status Buffer_OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  TERCEL_ASSIGN(args.device_memory_ptr, bufferOf(args.buffer).data());
  return {};
}

Status Buffer_IncreaseExternalReferenceCount(
    PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  return bufferOf(args.buffer).increaseExternalReferences();
}

Status Buffer_DecreaseExternalReferenceCount(
    PJRT_Buffer_DecreaseExternalReferenceCount_Args& args) {
  return bufferOf(args.buffer).decreaseExternalReferences();
}

Status Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args& args) {
  const runtime::Buffer& buffer = bufferOf(args.src);
  // Without a wish the bytes go out as they lie.
  Dims layout = buffer.type().layout;
  if (args.host_layout) {
    TERCEL_ASSIGN(layout, unwrap(args.host_layout, buffer.shape()));
  }
  if (!args.dst) {
    args.dst_size = static_cast<size_t>(buffer.bytes());
    args.event = nullptr;
    return {};
  }
  TERCEL_ASSIGN(auto done,
                buffer.copyToHost(args.dst, static_cast<int64_t>(args.dst_size), layout));
  args.event = wrap(std::move(done));
  return {};
}

Status Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args& args) {
  if (!args.dst && args.transfer_size != 0) return invalidArgument("dst is null");
  TERCEL_ASSIGN(auto done,
                bufferOf(args.buffer).copyRawToHost(args.dst, args.offset, args.transfer_size));
  args.event = wrap(std::move(done));
  return {};
}

Status Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args& args) {
  const ClientRef& client = args.buffer->client;
  TERCEL_ASSIGN(runtime::Memory * memory, memoryOf(*client, nullptr, args.dst_device));
  TERCEL_ASSIGN(auto copy, bufferOf(args.buffer).copyTo(memory));
  args.dst_buffer = wrap(client, std::move(copy));
  return {};
}

Status Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args& args) {
  const ClientRef& client = args.buffer->client;
  TERCEL_ASSIGN(runtime::Memory * memory, memoryOf(*client, args.dst_memory, nullptr));
  TERCEL_ASSIGN(auto copy, bufferOf(args.buffer).copyTo(memory));
  args.dst_buffer = wrap(client, std::move(copy));
  return {};
}

Status Buffer_Bitcast(PJRT_Buffer_Bitcast_Args& args) {
  TERCEL_ASSIGN(Shape shape, unwrapShape(args.element_type, args.dims, args.num_dims));
  TERCEL_ASSIGN(Dims layout, unwrap(args.device_layout, shape));
  TERCEL_ASSIGN(auto same, bufferOf(args.buffer).bitcast({std::move(shape), std::move(layout)}));
  args.out_buffer = wrap(args.buffer->client, std::move(same));
  return {};
}

}  // namespace tercel::pjrt
