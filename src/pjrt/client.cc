#include "compiler/compile.h"
#include "core/overload.h"
#include "pjrt/compile.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"
#include "pjrt/version.h"

namespace tercel::pjrt {
namespace {

Result<std::string> optionText(const NamedValue& value) {
  using Text = Result<std::string>;
  return std::visit(
      Overload{[](const std::string& v) { return Text(v); }, [](int64_t v) { return Text(cat(v)); },
               [](bool v) { return Text(v ? "1" : "0"); },
               [](const auto&) { return Text(invalidArgument("a bad type")); }},
      value);
}

// Of jax.distributed; the key-value store it comes with is for several processes only.
bool isClusterOption(std::string_view name) {
  return name == "node_id" || name == "num_nodes" || name == "partition_index";
}

Status setCreateOption(Options& options, const std::string& name, const NamedValue& value) {
  Result<std::string> text = optionText(value);
  if (!text.ok()) return text.status().within(cat("create option ", name));
  if (!isClusterOption(name)) return setOption(options, name, *text);
  if (name != "num_nodes" || *text == "1") return {};
  return unimplemented("clients of several processes (num_nodes ", *text,
                       ") are not supported by Tercel");
}

}  // namespace

Status Client_Create(PJRT_Client_Create_Args& args) {
  TERCEL_ASSIGN(Options options, optionsFromEnvironment());
  TERCEL_ASSIGN(const auto given, readNamedValues(args.create_options, args.num_options));
  for (const auto& [name, value] : given) TERCEL_TRY(setCreateOption(options, name, value));
  TERCEL_TRY(checkCpu(options));
  TERCEL_ASSIGN(auto client, runtime::Client::create(options));
  compiler::prepare({.target = options.cpu});
  args.client = new PJRT_Client{std::make_shared<ClientState>(std::move(client))};
  return {};
}

Status Client_Destroy(PJRT_Client_Destroy_Args& args) {
  delete args.client;
  return {};
}

Status Client_PlatformName(PJRT_Client_PlatformName_Args& args) {
  args.platform_name = kPlatformName.data();
  args.platform_name_size = kPlatformName.size();
  return {};
}

Status Client_PlatformVersion(PJRT_Client_PlatformVersion_Args& args) {
  args.platform_version = kPlatformVersion.data();
  args.platform_version_size = kPlatformVersion.size();
  return {};
}

Status Client_ProcessIndex(PJRT_Client_ProcessIndex_Args& args) {
  args.process_index = 0;
  return {};
}

Status Client_TopologyDescription(PJRT_Client_TopologyDescription_Args& args) {
  args.topology = args.client->state->topology.get();
  return {};
}

Status Client_Devices(PJRT_Client_Devices_Args& args) {
  args.devices = args.client->state->device_pointers.data();
  args.num_devices = args.client->state->device_pointers.size();
  return {};
}

Status Client_AddressableDevices(PJRT_Client_AddressableDevices_Args& args) {
  args.addressable_devices = args.client->state->device_pointers.data();
  args.num_addressable_devices = args.client->state->device_pointers.size();
  return {};
}

Status Client_LookupDevice(PJRT_Client_LookupDevice_Args& args) {
  ClientState& state = *args.client->state;
  TERCEL_ASSIGN(const runtime::Device* device, state.client->lookupDevice(args.id));
  args.device = state.wrap(device);
  return {};
}

Status Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args& args) {
  for (PJRT_Device* device : args.client->state->device_pointers) {
    if (device->device->localHardwareId() != args.local_hardware_id) continue;
    args.addressable_device = device;
    return {};
  }
  return invalidArgument("No matching device found for local_hardware_id ", args.local_hardware_id);
}

Status Client_AddressableMemories(PJRT_Client_AddressableMemories_Args& args) {
  args.addressable_memories = args.client->state->memory_pointers.data();
  args.num_addressable_memories = args.client->state->memory_pointers.size();
  return {};
}

Status Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args& args) {
  const int64_t wanted = int64_t{args.num_replicas} * args.num_partitions;
  const auto devices = static_cast<int64_t>(args.client->state->device_pointers.size());
  if (args.num_replicas < 1 || args.num_partitions < 1 || wanted > devices) {
    return invalidArgument("no default assignment of ", args.num_replicas, "x", args.num_partitions,
                           " devices: there are ", devices);
  }
  if (static_cast<int64_t>(args.default_assignment_size) < wanted) {
    return failedPrecondition("default_assignment_size is ", args.default_assignment_size,
                              ", should be at least ", wanted);
  }
  if (!args.default_assignment) return invalidArgument("default_assignment is null");
  for (int id = 0; id < wanted; ++id) args.default_assignment[id] = id;
  return {};
}

}  // namespace tercel::pjrt
