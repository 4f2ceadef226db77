#include "pjrt/handles.h"

#include "pjrt/version.h"

PJRT_TopologyDescription::PJRT_TopologyDescription(std::string version,
                                                   std::vector<PJRT_DeviceDescription> d,
                                                   std::vector<PJRT_MemoryDescription> m)
    : platform_version(std::move(version)), devices(std::move(d)), memories(std::move(m)) {
  for (PJRT_DeviceDescription& device : devices) {
    device.topology = this;
    device_pointers.push_back(&device);
  }
  for (const PJRT_MemoryDescription& memory : memories) {
    memory_pointers.push_back(&memory);
    memory_kind_ids.push_back(memory.kind_id);
  }
}

namespace tercel::pjrt {
namespace {

void* getUserData(PJRT_Memory* memory, const void* key) { return unwrap(memory)->userData(key); }

void setUserData(PJRT_Memory* memory, const void* key, void* data, void (*destroy)(void*)) noexcept
    try {
  unwrap(memory)->setUserData(key, data, destroy);
} catch (...) {  // out of memory, with no way to say so
  if (destroy) destroy(data);
}

const PJRT_Memory_FunctionTable kMemoryTable = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .extension_start = nullptr,
    .instance_struct_size = PJRT_Memory_STRUCT_SIZE,
    .get_user_data = getUserData,
    .set_user_data = setUserData,
};

std::unique_ptr<PJRT_TopologyDescription> describe(const runtime::Client& client) {
  std::vector<PJRT_DeviceDescription> devices;
  for (const runtime::Device* device : client.devices()) {
    devices.push_back({device->id(), device->processIndex(), device->kind(), device->debugString(),
                       device->toString()});
  }
  std::vector<PJRT_MemoryDescription> memories;
  for (const runtime::Memory* memory : client.devices().front()->memories()) {
    memories.push_back({std::string(memory->kindName()), memory->kindId()});
  }
  return std::make_unique<PJRT_TopologyDescription>(std::string(kPlatformVersion),
                                                    std::move(devices), std::move(memories));
}

PJRT_Event* readyEvent() {
  static PJRT_Event event;
  return &event;
}

}  // namespace

Memory::Memory(ClientState* c, runtime::Memory* m)
    : PJRT_Memory{&kMemoryTable}, client(c), memory(m) {}

Memory::~Memory() {
  for (const auto& [key, value] : user_data_) {
    if (value.destroy) value.destroy(value.data);
  }
}

void* Memory::userData(const void* key) {
  const std::lock_guard lock(mutex_);
  const auto found = user_data_.find(key);
  return found == user_data_.end() ? nullptr : found->second.data;
}

void Memory::setUserData(const void* key, void* data, void (*destroy)(void*)) {
  UserData old = {};
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange(user_data_[key], {data, destroy});
  }
  if (old.destroy) old.destroy(old.data);
}

ClientState::ClientState(std::unique_ptr<runtime::Client> c)
    : client(std::move(c)), topology(describe(*client)) {
  for (runtime::Memory* memory : client->memories()) {
    TERCEL_CHECK(static_cast<size_t>(memory->id()) == memory_pointers.size(),
                 "memory ids are not dense");
    memory_pointers.push_back(&memories.emplace_back(this, memory));
  }
  for (runtime::Device* device : client->devices()) {
    TERCEL_CHECK(static_cast<size_t>(device->id()) == device_pointers.size(),
                 "device ids are not dense");
    std::vector<PJRT_Memory*> own;
    for (const runtime::Memory* memory : device->memories()) own.push_back(wrap(memory));
    PJRT_DeviceDescription* description = topology->device_pointers[device_pointers.size()];
    device_pointers.push_back(&devices.emplace_back(
        PJRT_Device{this, device, description, wrap(device->defaultMemory()), std::move(own)}));
    for (PJRT_Memory* memory : devices.back().memories) {
      unwrap(memory)->device = &devices.back();
    }
  }
}

PJRT_Buffer* wrap(const ClientRef& client, runtime::BufferPtr buffer) {
  return new PJRT_Buffer{client, std::move(buffer)};
}

PJRT_Event* wrap(runtime::Event event) {
  return event.isTrivial() ? readyEvent() : new PJRT_Event{std::move(event)};
}

void destroy(PJRT_Event* event) {
  if (event != readyEvent()) delete event;
}

Result<runtime::Memory*> memoryOf(const ClientState& client, PJRT_Memory* memory,
                                  PJRT_Device* device) {
  if (!memory && !device) return invalidArgument("neither a memory nor a device is given");
  const ClientState* owner = memory ? unwrap(memory)->client : device->client;
  if (owner != &client) return invalidArgument("the memory or device is another client's");
  return memory ? unwrap(memory)->memory : device->device->defaultMemory();
}

}  // namespace tercel::pjrt
