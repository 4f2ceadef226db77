// A saved program called from C beside the plugin's run of the same file, without Python on either
// side; runs take turns, the least time counts. Of bench/aot.py plugin's programs:
//   python bench/aot.py calls FOLDER
//   c++ -O2 -std=c++20 -Isrc bench/aot_calls.cc -o calls -ldl
//   TERCEL_NUM_THREADS=1 ./calls pjrt_plugin_tercel.so 1 FOLDER/*.tercel
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "pjrt/abi/api.h"
#include "program/tercel_program.h"

namespace {

const PJRT_Api* pjrt;
const tercel_api* tercel;
PJRT_Client* client;
PJRT_Device* device;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s failed: %s\n", what, tercel->error_message());
  std::exit(1);
}

#define ARGS(name, var)      \
  PJRT_##name##_Args var = {}; \
  var.struct_size = PJRT_##name##_Args_STRUCT_SIZE
#define CALL(name, var) \
  if (pjrt->PJRT_##name(&var)) fail(#name)

std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void openPlugin(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) std::fprintf(stderr, "%s\n", dlerror()), std::exit(1);
  pjrt = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  tercel = reinterpret_cast<decltype(&tercel_get_api)>(dlsym(library, "tercel_get_api"))();
  ARGS(Plugin_Initialize, initialize);
  CALL(Plugin_Initialize, initialize);
  ARGS(Client_Create, create);
  CALL(Client_Create, create);
  client = create.client;
  ARGS(Client_AddressableDevices, devices);
  devices.client = client;
  CALL(Client_AddressableDevices, devices);
  device = devices.addressable_devices[0];
}

PJRT_Buffer* onDevice(const void* data, const tercel_value_info& info) {
  ARGS(Client_BufferFromHostBuffer, args);
  args.client = client;
  args.device = device;
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = info.dims;
  args.num_dims = info.rank;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  CALL(Client_BufferFromHostBuffer, args);
  return args.buffer;
}

void runOnPlugin(PJRT_LoadedExecutable* executable, const std::vector<PJRT_Buffer*>& arguments) {
  PJRT_ExecuteOptions options = {};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  PJRT_Buffer* const* list = arguments.data();
  PJRT_Buffer* result = nullptr;
  PJRT_Buffer** results = &result;
  PJRT_Event* event = nullptr;
  ARGS(LoadedExecutable_Execute, run);
  run.executable = executable;
  run.options = &options;
  run.argument_lists = &list;
  run.num_devices = 1;
  run.num_args = arguments.size();
  run.output_lists = &results;
  run.device_complete_events = &event;
  CALL(LoadedExecutable_Execute, run);
  ARGS(Event_Await, await);
  await.event = event;
  CALL(Event_Await, await);
  ARGS(Event_Destroy, destroy);
  destroy.event = event;
  CALL(Event_Destroy, destroy);
  ARGS(Buffer_Destroy, release);
  release.buffer = result;
  CALL(Buffer_Destroy, release);
}

std::vector<double> leastTimes(const std::vector<std::function<void()>>& calls) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> least(calls.size(), 1e9);
  const auto end = Clock::now() + std::chrono::seconds(3);
  while (Clock::now() < end) {
    for (size_t c = 0; c < calls.size(); ++c) {
      const auto begin = Clock::now();
      for (int i = 0; i < 20; ++i) calls[c]();
      const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
      least[c] = std::min(least[c], time.count() / 20);
    }
  }
  return least;
}

// A program of one procedure with one result, all of f32.
void compare(const std::string& path, int threads) {
  const std::string bytes = contentOf(path);
  tercel_program* program;
  tercel_instance* instance;
  tercel_instance_options options = {};
  options.struct_size = sizeof options;
  options.num_threads = threads;
  if (tercel->program_load(bytes.data(), bytes.size(), nullptr, &program)) fail("load");
  if (tercel->instance_create(program, &options, &instance)) fail("create");
  std::vector<tercel_buffer> buffers;
  std::vector<PJRT_Buffer*> arguments;
  auto add = [&](const tercel_value_info& info) {
    const auto bytes = static_cast<size_t>(info.bytes);
    auto* data = static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    for (size_t i = 0; i < bytes / sizeof(float); ++i) data[i] = static_cast<float>(i % 13) / 13;
    buffers.push_back({data, bytes});
  };
  tercel_value_info info = {};
  info.struct_size = sizeof info;
  for (size_t a = 0; tercel->program_argument(program, 0, a, &info) == TERCEL_OK; ++a) {
    add(info);
    arguments.push_back(onDevice(buffers.back().data, info));
  }
  if (tercel->program_result(program, 0, 0, &info)) fail("result");
  add(info);
  ARGS(Executable_DeserializeAndLoad, load);
  load.client = client;
  load.serialized_executable = bytes.data();
  load.serialized_executable_size = bytes.size();
  CALL(Executable_DeserializeAndLoad, load);
  const size_t count = arguments.size();
  const std::vector<double> least = leastTimes({
      [&] {
        if (tercel->instance_call(instance, 0, buffers.data(), count, &buffers[count], 1))
          fail("call");
      },
      [&] { runOnPlugin(load.loaded_executable, arguments); }});
  std::printf("%s: saved %.2f us, plugin %.2f us, saved / plugin %.3f\n", path.c_str(), least[0],
              least[1], least[0] / least[1]);
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return std::puts("usage: calls PLUGIN THREADS PROGRAM..."), 1;
  openPlugin(words[1]);
  for (int i = 3; i < count; ++i) compare(words[i], std::atoi(words[2]));
  std::fflush(stdout);
  std::_Exit(0);
}
