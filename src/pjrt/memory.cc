#include "pjrt/entry.h"
#include "pjrt/extensions.h"
#include "pjrt/handles.h"

namespace tercel::pjrt {
namespace {

Status DeviceDescription_MemoryDescriptions(PJRT_DeviceDescription_MemoryDescriptions_Args& args) {
  const PJRT_TopologyDescription& topology = *args.device_description->topology;
  args.memory_descriptions = topology.memory_pointers.data();
  args.num_memory_descriptions = topology.memory_pointers.size();
  args.default_memory_index = 0;
  return {};
}

Status MemoryDescription_Kind(PJRT_MemoryDescription_Kind_Args& args) {
  args.kind = args.memory_description->kind.data();
  args.kind_size = args.memory_description->kind.size();
  args.kind_id = args.memory_description->kind_id;
  return {};
}

PJRT_DOOR(DeviceDescription_MemoryDescriptions, device_description, default_memory_index)
PJRT_DOOR(MemoryDescription_Kind, memory_description, kind_id)

}  // namespace

PJRT_MemoryDescriptions_Extension memoryDescriptionsExtension() {
  return {{PJRT_MemoryDescriptions_Extension_STRUCT_SIZE, PJRT_Extension_Type_MemoryDescriptions,
           nullptr},
          door_DeviceDescription_MemoryDescriptions,
          door_MemoryDescription_Kind};
}

Status Memory_Id(PJRT_Memory_Id_Args& args) {
  args.id = unwrap(args.memory)->memory->id();
  return {};
}

Status Memory_Kind(PJRT_Memory_Kind_Args& args) {
  const std::string_view kind = unwrap(args.memory)->memory->kindName();
  args.kind = kind.data();
  args.kind_size = kind.size();
  return {};
}

Status Memory_Kind_Id(PJRT_Memory_Kind_Id_Args& args) {
  args.kind_id = unwrap(args.memory)->memory->kindId();
  return {};
}

Status Memory_DebugString(PJRT_Memory_DebugString_Args& args) {
  const std::string& text = unwrap(args.memory)->memory->debugString();
  args.debug_string = text.data();
  args.debug_string_size = text.size();
  return {};
}

Status Memory_ToString(PJRT_Memory_ToString_Args& args) {
  const std::string& text = unwrap(args.memory)->memory->toString();
  args.to_string = text.data();
  args.to_string_size = text.size();
  return {};
}

Status Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args& args) {
  args.devices = &unwrap(args.memory)->device;
  args.num_devices = 1;
  return {};
}

}  // namespace tercel::pjrt
