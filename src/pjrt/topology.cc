#include "pjrt/entry.h"
#include "pjrt/handles.h"
#include "pjrt/version.h"
#include "pjrt/wire.h"
#include "program/file_header.h"
#include "program/format.h"

struct PJRT_SerializedTopology : tercel::pjrt::SerializedBytes {};

namespace tercel::pjrt {
namespace {

// The fields of a serialized topology, in protobuf's wire format.
enum : uint32_t { kVersion = 1, kDevice = 2, kMemory = 3 };
enum : uint32_t { kId = 1, kProcessIndex = 2, kKind = 3, kDebugString = 4, kToString = 5 };
enum : uint32_t { kMemoryKind = 1, kMemoryKindId = 2 };

std::string write(const PJRT_TopologyDescription& topology) {
  WireWriter out;
  out.bytes(kVersion, topology.platform_version);
  for (const PJRT_DeviceDescription& device : topology.devices) {
    WireWriter inner;
    inner.integer(kId, device.id);
    inner.integer(kProcessIndex, device.process_index);
    inner.bytes(kKind, device.kind);
    inner.bytes(kDebugString, device.debug_string);
    inner.bytes(kToString, device.to_string);
    out.bytes(kDevice, inner.take());
  }
  for (const PJRT_MemoryDescription& memory : topology.memories) {
    WireWriter inner;
    inner.bytes(kMemoryKind, memory.kind);
    inner.integer(kMemoryKindId, memory.kind_id);
    out.bytes(kMemory, inner.take());
  }
  return out.take();
}

Status read(const WireField& field, std::string& to) {
  TERCEL_ASSIGN(to, field.text());
  return {};
}

Status read(const WireField& field, int& to) {
  TERCEL_ASSIGN(const int64_t value, field.integer());
  to = static_cast<int>(value);
  return {};
}

Status readDevice(const WireField& field, PJRT_DeviceDescription& device) {
  TERCEL_ASSIGN(const std::string_view bytes, field.text());
  return readMessage(bytes, [&](const WireField& inner) -> Status {
    switch (inner.number) {
      case kId:
        return read(inner, device.id);
      case kProcessIndex:
        return read(inner, device.process_index);
      case kKind:
        return read(inner, device.kind);
      case kDebugString:
        return read(inner, device.debug_string);
      case kToString:
        return read(inner, device.to_string);
      default:
        return {};
    }
  });
}

Status readMemory(const WireField& field, PJRT_MemoryDescription& memory) {
  TERCEL_ASSIGN(const std::string_view bytes, field.text());
  return readMessage(bytes, [&](const WireField& inner) -> Status {
    switch (inner.number) {
      case kMemoryKind:
        return read(inner, memory.kind);
      case kMemoryKindId:
        return read(inner, memory.kind_id);
      default:
        return {};
    }
  });
}

Result<std::unique_ptr<PJRT_TopologyDescription>> read(std::string_view bytes) {
  std::string version;
  std::vector<PJRT_DeviceDescription> devices;
  std::vector<PJRT_MemoryDescription> memories;
  TERCEL_TRY(readMessage(bytes, [&](const WireField& field) -> Status {
    switch (field.number) {
      case kVersion:
        return read(field, version);
      case kDevice:
        return readDevice(field, devices.emplace_back());
      case kMemory:
        return readMemory(field, memories.emplace_back());
      default:
        return {};
    }
  }));
  if (devices.empty() || memories.empty()) return invalidArgument("no devices or no memories");
  return std::make_unique<PJRT_TopologyDescription>(std::move(version), std::move(devices),
                                                    std::move(memories));
}

}  // namespace

Status TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args& args) {
  delete args.topology;
  return {};
}

Status TopologyDescription_PlatformName(PJRT_TopologyDescription_PlatformName_Args& args) {
  args.platform_name = kPlatformName.data();
  args.platform_name_size = kPlatformName.size();
  return {};
}

Status TopologyDescription_PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args& args) {
  args.platform_version = args.topology->platform_version.data();
  args.platform_version_size = args.topology->platform_version.size();
  return {};
}

Status TopologyDescription_GetDeviceDescriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args& args) {
  args.descriptions = args.topology->device_pointers.data();
  args.num_descriptions = args.topology->device_pointers.size();
  return {};
}

Status TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args& args) {
  auto* serialized = new PJRT_SerializedTopology{{write(*args.topology)}};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_topology = serialized;
  args.serialized_topology_deleter = [](PJRT_SerializedTopology* t) { delete t; };
  return {};
}

Status TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args& args) {
  auto topology = read(textOf(args.serialized_topology, args.serialized_topology_size));
  if (!topology.ok()) return topology.status().within("PJRT_TopologyDescription_Deserialize");
  args.topology = topology->release();
  return {};
}

Status TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return {};
}

Status TopologyDescription_Fingerprint(PJRT_TopologyDescription_Fingerprint_Args& args) {
  const std::string bytes = write(*args.topology);
  args.fingerprint = program::hashBytes(std::as_bytes(std::span(bytes)));
  return {};
}

Status TopologyDescription_GetMemorySpaceKindIds(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args& args) {
  args.memory_space_kind_ids = args.topology->memory_kind_ids.data();
  args.num_memory_space_kind_ids = args.topology->memory_kind_ids.size();
  return {};
}

}  // namespace tercel::pjrt
