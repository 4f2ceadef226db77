// The objects behind the opaque pointers of the C API. Each wraps a noun of the runtime; what a
// getter returns is computed once, when the object is made.
//
// A client's devices and memories are shared by all that was made from it: buffers and executables
// keep them alive, so that destroying the client first is harmless.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pjrt/abi/api.h"
#include "pjrt/abi/ext_layouts.h"
#include "pjrt/abi/ext_memory_descriptions.h"
#include "pjrt/device_assignment.h"
#include "pjrt/named_value.h"
#include "runtime/buffer.h"
#include "runtime/client.h"
#include "runtime/device.h"
#include "runtime/event.h"
#include "runtime/executable.h"
#include "runtime/memory.h"

namespace tercel::pjrt {
struct ClientState;
struct ExecutableFacts;
using ClientRef = std::shared_ptr<ClientState>;
using FactsRef = std::shared_ptr<const ExecutableFacts>;
}  // namespace tercel::pjrt

struct PJRT_Event {
  tercel::runtime::Event event;
};

struct PJRT_MemoryDescription {
  std::string kind;
  int kind_id;
};

struct PJRT_DeviceDescription {
  int id = 0;
  int process_index = 0;
  std::string kind;
  std::string debug_string;
  std::string to_string;
  const PJRT_TopologyDescription* topology = nullptr;
};

// Every device of a topology has all of its memory kinds; the first is the default.
struct PJRT_TopologyDescription {
  PJRT_TopologyDescription(std::string platform_version,
                           std::vector<PJRT_DeviceDescription> devices,
                           std::vector<PJRT_MemoryDescription> memories);
  PJRT_TopologyDescription(const PJRT_TopologyDescription&) = delete;
  PJRT_TopologyDescription& operator=(const PJRT_TopologyDescription&) = delete;

  const std::string platform_version;
  std::vector<PJRT_DeviceDescription> devices;
  const std::vector<PJRT_MemoryDescription> memories;
  std::vector<PJRT_DeviceDescription*> device_pointers;
  std::vector<const PJRT_MemoryDescription*> memory_pointers;
  std::vector<int> memory_kind_ids;
};

struct PJRT_Device {
  tercel::pjrt::ClientState* client;
  tercel::runtime::Device* device;
  PJRT_DeviceDescription* description;
  PJRT_Memory* default_memory;
  std::vector<PJRT_Memory*> memories;
};

struct PJRT_Client {
  tercel::pjrt::ClientRef state;
};

struct PJRT_Buffer {
  tercel::pjrt::ClientRef client;
  tercel::runtime::BufferPtr buffer;
};

struct PJRT_Executable {
  tercel::pjrt::FactsRef facts;
};

struct PJRT_LoadedExecutable {
  tercel::pjrt::ClientRef client;
  std::shared_ptr<tercel::runtime::Executable> executable;
  tercel::pjrt::FactsRef facts;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_LogicalDeviceIds> logical_ids;
};

struct PJRT_ExecuteContext {
  tercel::ffi::UserData user_data;  // of the handlers of custom calls
};
struct PJRT_AsyncTrackingEvent {};

struct PJRT_Layouts_MemoryLayout {
  std::string text;
};

namespace tercel::pjrt {

// The bytes of these are handed out with a deleter.
struct SerializedBytes {
  std::string bytes;
};

struct Memory : PJRT_Memory {
  Memory(ClientState* client, runtime::Memory* memory);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* userData(const void* key);
  void setUserData(const void* key, void* data, void (*destroy)(void*));

  ClientState* const client;
  runtime::Memory* const memory;
  PJRT_Device* device = nullptr;

 private:
  struct UserData {
    void* data;
    void (*destroy)(void*);
  };
  std::mutex mutex_;
  std::map<const void*, UserData> user_data_;
};

struct ClientState {
  explicit ClientState(std::unique_ptr<runtime::Client> client);
  ClientState(const ClientState&) = delete;
  ClientState& operator=(const ClientState&) = delete;

  PJRT_Device* wrap(const runtime::Device* device) { return device_pointers[device->id()]; }
  PJRT_Memory* wrap(const runtime::Memory* memory) { return memory_pointers[memory->id()]; }

  std::unique_ptr<runtime::Client> client;
  std::unique_ptr<PJRT_TopologyDescription> topology;
  std::deque<PJRT_Device> devices;
  std::deque<Memory> memories;
  std::vector<PJRT_Device*> device_pointers;  // by id, as are the memories
  std::vector<PJRT_Memory*> memory_pointers;
};

inline Memory* unwrap(PJRT_Memory* memory) { return static_cast<Memory*>(memory); }

// New handles, which are the caller's to destroy.
PJRT_Buffer* wrap(const ClientRef& client, runtime::BufferPtr buffer);
PJRT_Event* wrap(runtime::Event event);
// Most events are ready before anybody asks: those are one handle, which nobody owns.
void destroy(PJRT_Event* event);
struct DestroyEvent {
  void operator()(PJRT_Event* event) const { destroy(event); }
};
using EventPtr = std::unique_ptr<PJRT_Event, DestroyEvent>;

// The memory that `memory` or else the default one of `device` stands for: INVALID_ARGUMENT where
// both are null or belong to another client.
Result<runtime::Memory*> memoryOf(const ClientState& client, PJRT_Memory* memory,
                                  PJRT_Device* device);

inline std::string_view textOf(const char* data, size_t size) {
  return data ? std::string_view(data, size) : std::string_view();
}

}  // namespace tercel::pjrt
