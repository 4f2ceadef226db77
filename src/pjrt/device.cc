// Devices, their descriptions, and the memory descriptions extension.
#include "pjrt/entry.h"
#include "pjrt/extensions.h"
#include "pjrt/handles.h"

struct PJRT_Device_Attributes {};

namespace tercel::pjrt {

Status DeviceDescription_Id(PJRT_DeviceDescription_Id_Args& args) {
  args.id = args.device_description->id;
  return {};
}

Status DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args& args) {
  args.process_index = args.device_description->process_index;
  return {};
}

Status DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return {};
}

Status DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args& args) {
  args.device_kind = args.device_description->kind.data();
  args.device_kind_size = args.device_description->kind.size();
  return {};
}

Status DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args& args) {
  args.debug_string = args.device_description->debug_string.data();
  args.debug_string_size = args.device_description->debug_string.size();
  return {};
}

Status DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args& args) {
  args.to_string = args.device_description->to_string.data();
  args.to_string_size = args.device_description->to_string.size();
  return {};
}

Status Device_GetDescription(PJRT_Device_GetDescription_Args& args) {
  args.device_description = args.device->description;
  return {};
}

Status Device_IsAddressable(PJRT_Device_IsAddressable_Args& args) {
  args.is_addressable = true;
  return {};
}

Status Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args& args) {
  args.local_hardware_id = args.device->device->localHardwareId();
  return {};
}

Status Device_AddressableMemories(PJRT_Device_AddressableMemories_Args& args) {
  args.memories = args.device->memories.data();
  args.num_memories = args.device->memories.size();
  return {};
}

Status Device_DefaultMemory(PJRT_Device_DefaultMemory_Args& args) {
  args.memory = args.device->default_memory;
  return {};
}

Status Device_MemoryStats(PJRT_Device_MemoryStats_Args& args) {
  const runtime::AllocatorStats stats = args.device->device->memoryStats();
  args.bytes_in_use = stats.bytes_in_use;
  args.peak_bytes_in_use = stats.peak_bytes_in_use;
  args.peak_bytes_in_use_is_set = true;
  args.num_allocs = stats.allocations;
  args.num_allocs_is_set = true;
  args.largest_alloc_size = stats.largest_allocation;
  args.largest_alloc_size_is_set = true;
  args.bytes_limit = stats.bytes_limit;
  args.bytes_limit_is_set = true;
  args.bytes_reserved_is_set = false;
  args.peak_bytes_reserved_is_set = false;
  args.bytes_reservable_limit_is_set = false;
  args.largest_free_block_bytes_is_set = false;
  args.pool_bytes = stats.bytes_in_use + stats.bytes_cached;
  args.pool_bytes_is_set = true;
  args.peak_pool_bytes_is_set = false;
  if (covers(args, &PJRT_Device_MemoryStats_Args::peak_allocated_bytes_is_set)) {
    args.peak_allocated_bytes_is_set = false;
  }
  return {};
}

Status Device_ClearMemoryStats(PJRT_Device_ClearMemoryStats_Args& args) {
  args.device->device->allocator().resetStats();
  return {};
}

Status Device_GetAttributes(PJRT_Device_GetAttributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  args.device_attributes = nullptr;
  args.attributes_deleter = [](PJRT_Device_Attributes* attributes) { delete attributes; };
  return {};
}

// Tracking serves profilers that we do not have.
Status Device_CreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args& args) {
  args.event = new PJRT_AsyncTrackingEvent;
  return {};
}

Status AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args& args) {
  delete args.event;
  return {};
}

}  // namespace tercel::pjrt
