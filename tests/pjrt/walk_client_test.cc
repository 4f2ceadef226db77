// Client, devices, memories, topology, plugin attributes.
#include <algorithm>
#include <map>
#include <set>

#include "walk.h"

namespace walk {
namespace {

using Client = Walk;

std::string kindOf(PJRT_Memory* memory) {
  WALK_ARGS(Memory_Kind, args);
  args.memory = memory;
  EXPECT_EQ(WALK_CALL(Memory_Kind, args), PJRT_Error_Code_OK);
  return std::string(args.kind, args.kind_size);
}

PJRT_DeviceDescription* descriptionOf(PJRT_Device* device) {
  WALK_ARGS(Device_GetDescription, args);
  args.device = device;
  EXPECT_EQ(WALK_CALL(Device_GetDescription, args), PJRT_Error_Code_OK);
  return args.device_description;
}

int idOf(PJRT_Device* device) {
  WALK_ARGS(DeviceDescription_Id, args);
  args.device_description = descriptionOf(device);
  EXPECT_EQ(WALK_CALL(DeviceDescription_Id, args), PJRT_Error_Code_OK);
  return args.id;
}

// jax_pjrt_client_create_options sends every value as text.
TEST_F(Client, CreateOptions) {
  if (!isTercel()) GTEST_SKIP() << "options of Tercel's own";
  const auto create = [](const std::string& name, const std::string& value) {
    auto option = blank<PJRT_NamedValue>(PJRT_NamedValue_STRUCT_SIZE);
    option.name = name.data();
    option.name_size = name.size();
    option.type = PJRT_NamedValue_kString;
    option.string_value = value.data();
    option.value_size = value.size();
    WALK_ARGS(Client_Create, args);
    args.create_options = &option;
    args.num_options = 1;
    const Outcome outcome = WALK_CALL(Client_Create, args);
    if (outcome.code != PJRT_Error_Code_OK) return outcome;
    WALK_ARGS(Client_Devices, list);
    list.client = args.client;
    EXPECT_EQ(WALK_CALL(Client_Devices, list), PJRT_Error_Code_OK);
    EXPECT_EQ(list.num_devices, 3u);
    WALK_ARGS(Client_Destroy, destroy);
    destroy.client = args.client;
    return WALK_CALL(Client_Destroy, destroy);
  };
  EXPECT_EQ(create("num_devices", "3"), PJRT_Error_Code_OK);
  EXPECT_EQ(create("num_devices", "many"), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(create("no_such_option", "1"), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(create("num_nodes", "2"), PJRT_Error_Code_UNIMPLEMENTED);
}

TEST_F(Client, PluginAttributes) {
  WALK_ARGS(Plugin_Attributes, args);
  WALK_OK(Plugin_Attributes, args);
  std::map<std::string, const PJRT_NamedValue*> found;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& a = args.attributes[i];
    EXPECT_EQ(a.struct_size, PJRT_NamedValue_STRUCT_SIZE);
    EXPECT_TRUE(found.emplace(std::string(a.name, a.name_size), &a).second);
  }
  ASSERT_TRUE(found.count("xla_version"));
  for (const char* name : {"stablehlo_current_version", "stablehlo_minimum_version"}) {
    ASSERT_TRUE(found.count(name));
    EXPECT_EQ(found[name]->type, PJRT_NamedValue_kInt64List);
    EXPECT_EQ(found[name]->value_size, 3u);
  }
}

TEST_F(Client, PlatformNameIsCpu) {
  WALK_ARGS(Client_PlatformName, args);
  args.client = client;
  WALK_OK(Client_PlatformName, args);
  EXPECT_EQ(std::string(args.platform_name, args.platform_name_size), "cpu");
}

TEST_F(Client, ProcessIndexIsZero) {
  WALK_ARGS(Client_ProcessIndex, args);
  args.client = client;
  args.process_index = -1;
  WALK_OK(Client_ProcessIndex, args);
  EXPECT_EQ(args.process_index, 0);
}

TEST_F(Client, DevicesHaveDistinctIds) {
  WALK_ARGS(Client_Devices, args);
  args.client = client;
  WALK_OK(Client_Devices, args);
  ASSERT_GE(args.num_devices, 1u);
  std::set<int> ids;
  std::set<PJRT_Device*> all(args.devices, args.devices + args.num_devices);
  for (PJRT_Device* device : all) EXPECT_TRUE(ids.insert(idOf(device)).second);
  EXPECT_GE(*ids.begin(), 0);
  for (PJRT_Device* device : devices) EXPECT_TRUE(all.count(device));
}

TEST_F(Client, LookupDevice) {
  WALK_ARGS(Client_LookupDevice, args);
  args.client = client;
  WALK_OK(Client_LookupDevice, args);
  EXPECT_EQ(idOf(args.device), 0);
  for (const int bad : {-1, 1 << 20}) {
    args.id = bad;
    const Outcome outcome = WALK_CALL(Client_LookupDevice, args);
    EXPECT_EQ(outcome, PJRT_Error_Code_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, "No matching device found for device_id " + std::to_string(bad));
  }
}

TEST_F(Client, LookupAddressableDevice) {
  WALK_ARGS(Client_LookupAddressableDevice, args);
  args.client = client;
  WALK_OK(Client_LookupAddressableDevice, args);
  WALK_ARGS(Device_LocalHardwareId, local);
  local.device = args.addressable_device;
  WALK_OK(Device_LocalHardwareId, local);
  EXPECT_EQ(local.local_hardware_id, 0);
  args.local_hardware_id = -7;
  EXPECT_EQ(WALK_CALL(Client_LookupAddressableDevice, args), PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(Client, DefaultDeviceAssignment) {
  const int partitions = static_cast<int>(devices.size());
  std::vector<int> ids(devices.size(), -1);
  WALK_ARGS(Client_DefaultDeviceAssignment, args);
  args.client = client;
  args.num_replicas = 1;
  args.num_partitions = partitions;
  args.default_assignment_size = ids.size();
  args.default_assignment = ids.data();
  WALK_OK(Client_DefaultDeviceAssignment, args);
  EXPECT_EQ(std::set<int>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_EQ(std::count(ids.begin(), ids.end(), -1), 0);
  args.default_assignment_size = ids.size() - 1;
  EXPECT_EQ(WALK_CALL(Client_DefaultDeviceAssignment, args), PJRT_Error_Code_FAILED_PRECONDITION);
}

TEST_F(Client, DeviceFacts) {
  PJRT_Device* device = devices.front();
  WALK_ARGS(Device_IsAddressable, addressable);
  addressable.device = device;
  WALK_OK(Device_IsAddressable, addressable);
  EXPECT_TRUE(addressable.is_addressable);

  WALK_ARGS(DeviceDescription_ProcessIndex, process);
  process.device_description = descriptionOf(device);
  process.process_index = -1;
  WALK_OK(DeviceDescription_ProcessIndex, process);
  EXPECT_EQ(process.process_index, 0);

  WALK_ARGS(DeviceDescription_Kind, kind);
  kind.device_description = descriptionOf(device);
  WALK_OK(DeviceDescription_Kind, kind);
  EXPECT_GT(kind.device_kind_size, 0u);
  WALK_ARGS(DeviceDescription_ToString, text);
  text.device_description = descriptionOf(device);
  WALK_OK(DeviceDescription_ToString, text);
  EXPECT_GT(text.to_string_size, 0u);
  WALK_ARGS(DeviceDescription_DebugString, debug);
  debug.device_description = descriptionOf(device);
  WALK_OK(DeviceDescription_DebugString, debug);
  EXPECT_GT(debug.debug_string_size, 0u);

  WALK_ARGS(Device_GetAttributes, attributes);
  attributes.device = device;
  WALK_OK(Device_GetAttributes, attributes);
  ASSERT_NE(attributes.attributes_deleter, nullptr);
  attributes.attributes_deleter(attributes.device_attributes);
}

TEST_F(Client, MemoryStats) {
  WALK_ARGS(Device_MemoryStats, args);
  args.device = devices.front();
  args.struct_size = 185;  // 0.112's: the fields behind must stay untouched
  args.peak_allocated_bytes = 77;
  const Outcome outcome = WALK_CALL(Device_MemoryStats, args);
  if (outcome.code == PJRT_Error_Code_UNIMPLEMENTED) GTEST_SKIP() << outcome.message;
  EXPECT_EQ(outcome, PJRT_Error_Code_OK);
  EXPECT_GE(args.bytes_in_use, 0);
  EXPECT_EQ(args.peak_allocated_bytes, 77);
}

TEST_F(Client, Memories) {
  std::set<int> ids;
  for (PJRT_Device* device : devices) {
    WALK_ARGS(Device_AddressableMemories, args);
    args.device = device;
    WALK_OK(Device_AddressableMemories, args);
    std::set<std::string> kinds;
    std::set<int> kind_ids;
    for (size_t i = 0; i < args.num_memories; ++i) {
      PJRT_Memory* memory = args.memories[i];
      EXPECT_TRUE(kinds.insert(kindOf(memory)).second);
      WALK_ARGS(Memory_Id, id);
      id.memory = memory;
      WALK_OK(Memory_Id, id);
      EXPECT_TRUE(ids.insert(id.id).second);
      WALK_ARGS(Memory_Kind_Id, kind_id);
      kind_id.memory = memory;
      WALK_OK(Memory_Kind_Id, kind_id);
      EXPECT_NE(kind_id.kind_id, 0);
      EXPECT_TRUE(kind_ids.insert(kind_id.kind_id).second);
      WALK_ARGS(Memory_AddressableByDevices, by);
      by.memory = memory;
      WALK_OK(Memory_AddressableByDevices, by);
      EXPECT_EQ(std::count(by.devices, by.devices + by.num_devices, device), 1);
      WALK_ARGS(Memory_ToString, text);
      text.memory = memory;
      WALK_OK(Memory_ToString, text);
      WALK_ARGS(Memory_DebugString, debug);
      debug.memory = memory;
      WALK_OK(Memory_DebugString, debug);
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"device", "pinned_host", "unpinned_host"}));
    WALK_ARGS(Device_DefaultMemory, standard);
    standard.device = device;
    WALK_OK(Device_DefaultMemory, standard);
    EXPECT_EQ(kindOf(standard.memory), "device");
  }
  WALK_ARGS(Client_AddressableMemories, all);
  all.client = client;
  WALK_OK(Client_AddressableMemories, all);
  EXPECT_EQ(all.num_addressable_memories, ids.size());
}

// Since 0.105 the client keeps data of its own on a memory.
TEST_F(Client, MemoryUserData) {
  static int destroyed;
  destroyed = 0;
  WALK_ARGS(Device_DefaultMemory, args);
  args.device = devices.front();
  WALK_OK(Device_DefaultMemory, args);
  PJRT_Memory* memory = args.memory;
  ASSERT_NE(memory->vtable, nullptr);
  const int key = 0;
  const int other_key = 0;
  int data = 0;
  EXPECT_EQ(memory->vtable->get_user_data(memory, &key), nullptr);
  memory->vtable->set_user_data(memory, &key, &data, [](void*) { ++destroyed; });
  EXPECT_EQ(memory->vtable->get_user_data(memory, &key), &data);
  EXPECT_EQ(memory->vtable->get_user_data(memory, &other_key), nullptr);
  WALK_ARGS(Client_Destroy, destroy);
  destroy.client = client;
  client = nullptr;
  WALK_OK(Client_Destroy, destroy);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(Client, Topology) {
  WALK_ARGS(Client_TopologyDescription, args);
  args.client = client;
  WALK_OK(Client_TopologyDescription, args);
  WALK_ARGS(TopologyDescription_PlatformName, name);
  name.topology = args.topology;
  WALK_OK(TopologyDescription_PlatformName, name);
  EXPECT_EQ(std::string(name.platform_name, name.platform_name_size), "cpu");
  WALK_ARGS(TopologyDescription_GetDeviceDescriptions, list);
  list.topology = args.topology;
  WALK_OK(TopologyDescription_GetDeviceDescriptions, list);
  EXPECT_EQ(list.num_descriptions, devices.size());
  WALK_ARGS(TopologyDescription_Attributes, attributes);
  attributes.topology = args.topology;
  WALK_OK(TopologyDescription_Attributes, attributes);
}

TEST_F(Client, TopologyRoundTrip) {
  WALK_ARGS(Client_TopologyDescription, args);
  args.client = client;
  WALK_OK(Client_TopologyDescription, args);
  WALK_ARGS(TopologyDescription_Fingerprint, print);
  print.topology = args.topology;
  WALK_OK(TopologyDescription_Fingerprint, print);
  WALK_ARGS(TopologyDescription_Serialize, bytes);
  bytes.topology = args.topology;
  WALK_OK(TopologyDescription_Serialize, bytes);
  WALK_ARGS(TopologyDescription_Deserialize, read);
  read.serialized_topology = bytes.serialized_bytes;
  read.serialized_topology_size = bytes.serialized_bytes_size;
  WALK_OK(TopologyDescription_Deserialize, read);
  bytes.serialized_topology_deleter(bytes.serialized_topology);
  WALK_ARGS(TopologyDescription_Fingerprint, again);
  again.topology = read.topology;
  WALK_OK(TopologyDescription_Fingerprint, again);
  EXPECT_EQ(again.fingerprint, print.fingerprint);
  WALK_ARGS(TopologyDescription_Destroy, destroy);
  destroy.topology = read.topology;
  WALK_OK(TopologyDescription_Destroy, destroy);
}

TEST_F(Client, MemoryDescriptions) {
  auto* ext = reinterpret_cast<const PJRT_MemoryDescriptions_Extension*>(
      extension(PJRT_Extension_Type_MemoryDescriptions));
  ASSERT_NE(ext, nullptr);
  WALK_ARGS(DeviceDescription_MemoryDescriptions, args);
  args.device_description = descriptionOf(devices.front());
  ASSERT_EQ(take(ext->PJRT_DeviceDescription_MemoryDescriptions(&args)), PJRT_Error_Code_OK);
  if (isTercel()) {
    EXPECT_EQ(args.num_memory_descriptions, 3u);
  }
  for (size_t i = 0; i < args.num_memory_descriptions; ++i) {
    WALK_ARGS(MemoryDescription_Kind, kind);
    kind.memory_description = args.memory_descriptions[i];
    ASSERT_EQ(take(ext->PJRT_MemoryDescription_Kind(&kind)), PJRT_Error_Code_OK);
    EXPECT_NE(kind.kind_id, 0);
    if (i == args.default_memory_index) {
      EXPECT_EQ(std::string(kind.kind, kind.kind_size), "device");
    }
  }
}

}  // namespace
}  // namespace walk
