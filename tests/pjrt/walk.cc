#include "walk.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace walk {

const std::string_view kAddText = R"(
module @walk {
  func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

const std::string_view kAddBytecode(
    "ML\xefR\x0dStableHLO_v1.17.0\x00\x01\x19\x05\x01\x05\x09\x01\x03\x0b\x03\x07\x0f\x13\x17"
    "\x03/\x19\x07\x01\x11\x0b\x0b\x13\x13\x13\x13\x13\x13\x03\x09\x0b\x0b\x0b\x0b\x03\x07"
    "\x13\x1b\x07\x02_\x05\x0d\x05\x0f\x17\x01\x03\x03\x17\x01\x05\x07\x17\x01\x05\x35\x17"
    "\x01\x05[\x17\x01\x07\x15\x17\x01\x09\x0b\x03\x01#\x03\x1d\x11\x1d\x13)\x03\x11\x05\x11"
    "\x05\x01\x01\x03\x01\x09\x04Q\x05\x01P\x05\x01\x07\x04\x41\x03\x01\x05\x03P\x07\x03\x07"
    "\x04-\x03\x07\x0b\x05\x03\x09\x03\x0b\x00\x05\x06\x0d\x03\x01\x05\x01\x03\x07\x04\x0f"
    "\x03\x05\x06\x03\x01\x05\x01\x00\x97\x15\x0f\x0b\x0b\x05\x15\x0f\x11\x0f\x0b\x11\x62uilt"
    "in\x00vhlo\x00module\x00\x66unc_v1\x00\x61\x64\x64_v1\x00return_v1\x00-\x00walk\x00main"
    "\x00public\x00\x08\x15\x05\x05\x07\x01\x0b\x11\x13\x11\x15\x17",
    247);

const PJRT_Api& api() {
  static const PJRT_Api* const table = [] {
    const char* path = std::getenv("WALK_PLUGIN");
    void* library = dlopen(path ? path : TERCEL_PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(2);
    }
    auto* get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
    return get();
  }();
  return *table;
}

Outcome take(PJRT_Error* error) {
  if (!error) return {};
  WALK_ARGS(Error_GetCode, code);
  code.error = error;
  EXPECT_EQ(api().PJRT_Error_GetCode(&code), nullptr);
  WALK_ARGS(Error_Message, message);
  message.error = error;
  api().PJRT_Error_Message(&message);
  Outcome outcome{code.code, std::string(message.message, message.message_size)};
  WALK_ARGS(Error_Destroy, destroy);
  destroy.error = error;
  api().PJRT_Error_Destroy(&destroy);
  return outcome;
}

Outcome await(PJRT_Event* event) {
  WALK_ARGS(Event_Await, args);
  args.event = event;
  Outcome outcome = WALK_CALL(Event_Await, args);
  WALK_ARGS(Event_Destroy, destroy);
  destroy.event = event;
  EXPECT_EQ(WALK_CALL(Event_Destroy, destroy), PJRT_Error_Code_OK);
  return outcome;
}

const PJRT_Extension_Base* extension(PJRT_Extension_Type type) {
  const PJRT_Extension_Base* found = api().extension_start;
  while (found && found->type != type) found = found->next;
  return found;
}

void Walk::SetUp() {
  WALK_ARGS(Plugin_Initialize, initialize);
  WALK_OK(Plugin_Initialize, initialize);
  WALK_ARGS(Client_Create, args);
  auto two_devices = blank<PJRT_NamedValue>(PJRT_NamedValue_STRUCT_SIZE);
  two_devices.name = "num_devices";
  two_devices.name_size = 11;
  two_devices.type = PJRT_NamedValue_kInt64;
  two_devices.int64_value = 2;
  two_devices.value_size = 1;
  args.create_options = &two_devices;
  args.num_options = std::getenv("WALK_PLUGIN") ? 0 : 1;
  WALK_OK(Client_Create, args);
  client = args.client;
  WALK_ARGS(Client_AddressableDevices, list);
  list.client = client;
  WALK_OK(Client_AddressableDevices, list);
  devices.assign(list.addressable_devices, list.addressable_devices + list.num_addressable_devices);
  ASSERT_FALSE(devices.empty());
}

void Walk::TearDown() {
  if (!client) return;
  WALK_ARGS(Client_Destroy, args);
  args.client = client;
  EXPECT_EQ(WALK_CALL(Client_Destroy, args), PJRT_Error_Code_OK);
}

PJRT_Buffer* Walk::makeBuffer(const std::vector<float>& values) {
  const int64_t dim = static_cast<int64_t>(values.size());
  WALK_ARGS(Client_BufferFromHostBuffer, args);
  args.client = client;
  args.data = values.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = &dim;
  args.num_dims = 1;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = devices.front();
  EXPECT_EQ(WALK_CALL(Client_BufferFromHostBuffer, args), PJRT_Error_Code_OK);
  EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
  return args.buffer;
}

std::vector<float> Walk::read(PJRT_Buffer* buffer) {
  WALK_ARGS(Buffer_ToHostBuffer, args);
  args.src = buffer;
  EXPECT_EQ(WALK_CALL(Buffer_ToHostBuffer, args), PJRT_Error_Code_OK);
  std::vector<float> values(args.dst_size / sizeof(float));
  float none = 0;
  args.dst = values.empty() ? &none : values.data();  // null would ask for the size again
  EXPECT_EQ(WALK_CALL(Buffer_ToHostBuffer, args), PJRT_Error_Code_OK);
  EXPECT_EQ(await(args.event), PJRT_Error_Code_OK);
  return values;
}

void Walk::destroy(PJRT_Buffer* buffer) {
  WALK_ARGS(Buffer_Destroy, args);
  args.buffer = buffer;
  EXPECT_EQ(WALK_CALL(Buffer_Destroy, args), PJRT_Error_Code_OK);
}

Outcome Walk::compile(std::string_view code, std::string_view format, std::string_view options,
                      PJRT_LoadedExecutable*& executable) {
  std::string copy(code);
  auto program = blank<PJRT_Program>(PJRT_Program_STRUCT_SIZE);
  program.code = copy.data();
  program.code_size = copy.size();
  program.format = format.data();
  program.format_size = format.size();
  WALK_ARGS(Client_Compile, args);
  args.client = client;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  Outcome outcome = WALK_CALL(Client_Compile, args);
  executable = args.executable;
  return outcome;
}

PJRT_LoadedExecutable* Walk::compileAdd() {
  PJRT_LoadedExecutable* executable = nullptr;
  EXPECT_EQ(compile(kAddBytecode, "mlir", kOneDevice, executable), PJRT_Error_Code_OK);
  return executable;
}

size_t Walk::numOutputs(PJRT_LoadedExecutable* executable) {
  WALK_ARGS(Executable_NumOutputs, args);
  args.executable = unloaded(executable);
  EXPECT_EQ(WALK_CALL(Executable_NumOutputs, args), PJRT_Error_Code_OK);
  destroy(args.executable);
  return args.num_outputs;
}

Outcome Walk::run(PJRT_LoadedExecutable* executable, const std::vector<PJRT_Buffer*>& arguments,
                  std::vector<PJRT_Buffer*>& outputs) {
  auto options = blank<PJRT_ExecuteOptions>(PJRT_ExecuteOptions_STRUCT_SIZE);
  options.context = context;
  outputs.assign(numOutputs(executable), nullptr);
  PJRT_Buffer* const* const argument_lists[] = {arguments.data()};
  PJRT_Buffer** const output_lists[] = {outputs.data()};
  PJRT_Event* done = nullptr;
  WALK_ARGS(LoadedExecutable_Execute, args);
  args.executable = executable;
  args.options = &options;
  args.argument_lists = argument_lists;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = output_lists;
  args.device_complete_events = &done;
  const Outcome outcome = WALK_CALL(LoadedExecutable_Execute, args);
  return outcome.code == PJRT_Error_Code_OK ? await(done) : outcome;
}

void Walk::expectAdds(PJRT_LoadedExecutable* executable) {
  PJRT_Buffer* a = makeBuffer({1, 2, 3, 4});
  PJRT_Buffer* b = makeBuffer({10, 20, 30, 40});
  std::vector<PJRT_Buffer*> sums;
  ASSERT_EQ(run(executable, {a, b}, sums), PJRT_Error_Code_OK);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(read(sums[0]), (std::vector<float>{11, 22, 33, 44}));
  for (PJRT_Buffer* buffer : {a, b, sums[0]}) destroy(buffer);
}

PJRT_Executable* Walk::unloaded(PJRT_LoadedExecutable* executable) {
  WALK_ARGS(LoadedExecutable_GetExecutable, args);
  args.loaded_executable = executable;
  EXPECT_EQ(WALK_CALL(LoadedExecutable_GetExecutable, args), PJRT_Error_Code_OK);
  return args.executable;
}

void Walk::destroy(PJRT_LoadedExecutable* executable) {
  WALK_ARGS(LoadedExecutable_Destroy, args);
  args.executable = executable;
  EXPECT_EQ(WALK_CALL(LoadedExecutable_Destroy, args), PJRT_Error_Code_OK);
}

void Walk::destroy(PJRT_Executable* executable) {
  WALK_ARGS(Executable_Destroy, args);
  args.executable = executable;
  EXPECT_EQ(WALK_CALL(Executable_Destroy, args), PJRT_Error_Code_OK);
}

bool Walk::isTercel() {
  WALK_ARGS(Client_PlatformVersion, args);
  args.client = client;
  EXPECT_EQ(WALK_CALL(Client_PlatformVersion, args), PJRT_Error_Code_OK);
  return std::string_view(args.platform_version, args.platform_version_size).find("Tercel") !=
         std::string_view::npos;
}

}  // namespace walk
