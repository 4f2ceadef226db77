// Compiling, the facts of an executable, running it, and taking it to bytes and back.
#include <array>
#include <thread>

#include "walk.h"

namespace walk {
namespace {

class ExecutableTest : public Walk {
 protected:
  using Walk::run;

  // Of a program with one result.
  Outcome run(PJRT_LoadedExecutable* executable, const std::vector<PJRT_Buffer*>& arguments,
              PJRT_Buffer*& output) {
    std::vector<PJRT_Buffer*> outputs;
    const Outcome outcome = run(executable, arguments, outputs);
    output = outputs.at(0);
    return outcome;
  }
};

TEST_F(ExecutableTest, CompileBytecodeAndRun) {
  PJRT_LoadedExecutable* executable = compileAdd();
  ASSERT_NE(executable, nullptr);
  expectAdds(executable);
  destroy(executable);
}

// executable_build_options { num_replicas: 1, num_partitions: 1, device_assignment: {{1}} }
constexpr std::string_view kSecondDevice(
    "\x1a\x0f\x20\x01\x28\x01\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x01", 17);

TEST_F(ExecutableTest, RunsWhereTheDeviceAssignmentSays) {
  ASSERT_GE(devices.size(), 2u);
  PJRT_LoadedExecutable* executable = nullptr;
  ASSERT_EQ(compile(kAddBytecode, "mlir", kSecondDevice, executable), PJRT_Error_Code_OK);
  PJRT_Buffer* here = makeBuffer({1, 2, 3, 4});
  WALK_ARGS(Buffer_CopyToDevice, copy);
  copy.buffer = here;
  copy.dst_device = devices[1];
  WALK_OK(Buffer_CopyToDevice, copy);
  PJRT_Buffer* sum = nullptr;
  ASSERT_EQ(run(executable, {copy.dst_buffer, copy.dst_buffer}, sum), PJRT_Error_Code_OK);
  EXPECT_EQ(read(sum), (std::vector<float>{2, 4, 6, 8}));
  WALK_ARGS(Buffer_Device, device);
  device.buffer = sum;
  WALK_OK(Buffer_Device, device);
  EXPECT_EQ(device.device, devices[1]);
  for (PJRT_Buffer* buffer : {here, copy.dst_buffer, sum}) destroy(buffer);
  destroy(executable);
}

TEST_F(ExecutableTest, ManyThreads) {
  PJRT_LoadedExecutable* executable = compileAdd();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) expectAdds(executable);
    });
  }
  for (std::thread& thread : threads) thread.join();
  destroy(executable);
}

// Buffers and executables keep what they need of a client that is gone.
TEST_F(ExecutableTest, OutliveTheClient) {
  if (!isTercel()) GTEST_SKIP() << "XLA crashes";
  PJRT_LoadedExecutable* loaded = compileAdd();
  PJRT_Executable* executable = unloaded(loaded);
  PJRT_Buffer* buffer = makeBuffer({1, 2});
  WALK_ARGS(Client_Destroy, args);
  args.client = client;
  client = nullptr;
  WALK_OK(Client_Destroy, args);
  EXPECT_EQ(read(buffer), (std::vector<float>{1, 2}));
  destroy(loaded);
  destroy(buffer);
  destroy(executable);
}

TEST_F(ExecutableTest, CompileTextAndRun) {
  PJRT_LoadedExecutable* executable = nullptr;
  const Outcome outcome = compile(kAddText, "mlir", kOneDevice, executable);
  if (outcome.code == PJRT_Error_Code_UNIMPLEMENTED) GTEST_SKIP() << outcome.message;
  ASSERT_EQ(outcome, PJRT_Error_Code_OK);
  expectAdds(executable);
  destroy(executable);
}

TEST_F(ExecutableTest, BadFormat) {
  PJRT_LoadedExecutable* executable = nullptr;
  const Outcome outcome = compile(kAddText, "invalid", kOneDevice, executable);
  EXPECT_EQ(outcome, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "Unknown program format 'invalid'.");
}

TEST_F(ExecutableTest, UnknownOption) {
  // env_option_overrides { "invalid_key": "invalid_value" }
  std::string options(kOneDevice);
  const std::string value = "\x0a\x0dinvalid_value";
  options += std::string("\x3a\x1e\x0a\x0binvalid_key\x12\x0f") + value;
  PJRT_LoadedExecutable* executable = nullptr;
  const Outcome outcome = compile(kAddBytecode, "mlir", options, executable);
  EXPECT_EQ(outcome, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("No such compile option: 'invalid_key'"), std::string::npos)
      << outcome.message;
}

TEST_F(ExecutableTest, DamagedPrograms) {
  PJRT_LoadedExecutable* executable = nullptr;
  EXPECT_NE(compile("this is no program", "mlir", kOneDevice, executable), PJRT_Error_Code_OK);
  EXPECT_NE(compile("", "mlir", kOneDevice, executable), PJRT_Error_Code_OK);
  if (!isTercel()) return;
  for (size_t size = 0; size < kAddBytecode.size(); ++size) {
    EXPECT_NE(compile(kAddBytecode.substr(0, size), "mlir", kOneDevice, executable),
              PJRT_Error_Code_OK);
  }
  for (const std::string_view options : {"\x1a", "\x1a\x7f", "\xff\xff\xff\xff\xff", "\x07"}) {
    EXPECT_EQ(compile(kAddBytecode, "mlir", options, executable), PJRT_Error_Code_INVALID_ARGUMENT);
  }
}

TEST_F(ExecutableTest, Facts) {
  PJRT_LoadedExecutable* loaded = compileAdd();
  PJRT_Executable* executable = unloaded(loaded);
  WALK_ARGS(Executable_Name, name);
  name.executable = executable;
  WALK_OK(Executable_Name, name);
  EXPECT_EQ(std::string(name.executable_name, name.executable_name_size), "walk");
  WALK_ARGS(Executable_NumReplicas, replicas);
  replicas.executable = executable;
  WALK_OK(Executable_NumReplicas, replicas);
  EXPECT_EQ(replicas.num_replicas, 1u);
  WALK_ARGS(Executable_NumPartitions, partitions);
  partitions.executable = executable;
  WALK_OK(Executable_NumPartitions, partitions);
  EXPECT_EQ(partitions.num_partitions, 1u);
  WALK_ARGS(Executable_NumOutputs, outputs);
  outputs.executable = executable;
  WALK_OK(Executable_NumOutputs, outputs);
  EXPECT_EQ(outputs.num_outputs, 1u);
  WALK_ARGS(Executable_OutputElementTypes, types);
  types.executable = executable;
  WALK_OK(Executable_OutputElementTypes, types);
  ASSERT_EQ(types.num_output_types, 1u);
  EXPECT_EQ(types.output_types[0], PJRT_Buffer_Type_F32);
  WALK_ARGS(Executable_OutputDimensions, dims);
  dims.executable = executable;
  WALK_OK(Executable_OutputDimensions, dims);
  ASSERT_EQ(dims.num_outputs, 1u);
  ASSERT_EQ(dims.dim_sizes[0], 1u);
  EXPECT_EQ(dims.dims[0], 4);
  WALK_ARGS(Executable_OutputMemoryKinds, kinds);
  kinds.executable = executable;
  WALK_OK(Executable_OutputMemoryKinds, kinds);
  ASSERT_EQ(kinds.num_outputs, 1u);
  EXPECT_EQ(std::string(kinds.memory_kinds[0], kinds.memory_kind_sizes[0]), "device");
  WALK_ARGS(Executable_GetCompiledMemoryStats, stats);
  stats.executable = executable;
  WALK_OK(Executable_GetCompiledMemoryStats, stats);
  EXPECT_EQ(stats.argument_size_in_bytes, 32);
  EXPECT_EQ(stats.output_size_in_bytes, 16);
  destroy(loaded);
  destroy(executable);  // outlives the loaded one
}

// A client of API 0.40 has no room for the fields that came later.
TEST_F(ExecutableTest, WritesOnlyInsideTheCallersStruct) {
  if (!isTercel()) GTEST_SKIP() << "XLA refuses old clients";
  PJRT_LoadedExecutable* loaded = compileAdd();
  PJRT_Executable* executable = unloaded(loaded);
  WALK_ARGS(Executable_GetCompiledMemoryStats, stats);
  stats.executable = executable;
  stats.struct_size =
      offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, host_generated_code_size_in_bytes);
  stats.host_generated_code_size_in_bytes = 77;
  stats.peak_memory_in_bytes = 77;
  WALK_OK(Executable_GetCompiledMemoryStats, stats);
  EXPECT_EQ(stats.host_generated_code_size_in_bytes, 77);
  EXPECT_EQ(stats.peak_memory_in_bytes, 77);
  destroy(loaded);
  destroy(executable);
}

TEST_F(ExecutableTest, LoadedFacts) {
  PJRT_LoadedExecutable* loaded = compileAdd();
  WALK_ARGS(LoadedExecutable_AddressableDevices, on);
  on.executable = loaded;
  WALK_OK(LoadedExecutable_AddressableDevices, on);
  ASSERT_EQ(on.num_addressable_devices, 1u);
  EXPECT_EQ(on.addressable_devices[0], devices.front());
  WALK_ARGS(LoadedExecutable_AddressableDeviceLogicalIds, ids);
  ids.executable = loaded;
  WALK_OK(LoadedExecutable_AddressableDeviceLogicalIds, ids);
  ASSERT_EQ(ids.num_addressable_device_logical_ids, 1u);
  EXPECT_EQ(ids.addressable_device_logical_ids[0].replica, 0);
  EXPECT_EQ(ids.addressable_device_logical_ids[0].partition, 0);
  WALK_ARGS(LoadedExecutable_GetDeviceAssignment, assignment);
  assignment.executable = loaded;
  WALK_OK(LoadedExecutable_GetDeviceAssignment, assignment);
  EXPECT_GT(assignment.serialized_bytes_size, 0u);
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  WALK_ARGS(LoadedExecutable_IsDeleted, is_deleted);
  is_deleted.executable = loaded;
  WALK_OK(LoadedExecutable_IsDeleted, is_deleted);
  EXPECT_FALSE(is_deleted.is_deleted);
  destroy(loaded);
}

TEST_F(ExecutableTest, ShardingsAndLayouts) {
  PJRT_LoadedExecutable* loaded = compileAdd();
  PJRT_Executable* executable = unloaded(loaded);
  auto* shardings =
      reinterpret_cast<const PJRT_Shardings_Extension*>(extension(PJRT_Extension_Type_Shardings));
  ASSERT_NE(shardings, nullptr);
  WALK_ARGS(Shardings_PJRT_Executable_OutputShardings, out);
  out.executable = executable;
  EXPECT_EQ(take(shardings->PJRT_Shardings_PJRT_Executable_OutputShardings(&out)),
            PJRT_Error_Code_OK);
  auto* layouts =
      reinterpret_cast<const PJRT_Layouts_Extension*>(extension(PJRT_Extension_Type_Layouts));
  ASSERT_NE(layouts, nullptr);
  WALK_ARGS(Layouts_PJRT_Executable_GetParameterLayouts, in);
  in.executable = executable;
  EXPECT_EQ(take(layouts->PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&in)),
            PJRT_Error_Code_OK);
  ASSERT_EQ(in.num_parameters, 2u);
  WALK_ARGS(Layouts_MemoryLayout_Serialize, text);
  text.layout = in.layouts[0];
  EXPECT_EQ(take(layouts->PJRT_Layouts_MemoryLayout_Serialize(&text)), PJRT_Error_Code_OK);
  EXPECT_EQ(std::string(text.serialized_bytes, text.serialized_bytes_size), "{0}");
  text.serialized_layout_deleter(text.serialized_layout);
  destroy(executable);
  destroy(loaded);
}

TEST_F(ExecutableTest, SerializeAndLoad) {
  PJRT_LoadedExecutable* loaded = compileAdd();
  PJRT_Executable* executable = unloaded(loaded);
  WALK_ARGS(Executable_Serialize, bytes);
  bytes.executable = executable;
  const Outcome outcome = WALK_CALL(Executable_Serialize, bytes);
  destroy(executable);
  destroy(loaded);
  if (outcome.code == PJRT_Error_Code_UNIMPLEMENTED) GTEST_SKIP() << outcome.message;
  ASSERT_EQ(outcome, PJRT_Error_Code_OK);
  const std::string saved(bytes.serialized_bytes, bytes.serialized_bytes_size);
  bytes.serialized_executable_deleter(bytes.serialized_executable);

  WALK_ARGS(Executable_DeserializeAndLoad, args);
  args.client = client;
  args.serialized_executable = saved.data();
  args.serialized_executable_size = saved.size();
  WALK_OK(Executable_DeserializeAndLoad, args);
  expectAdds(args.loaded_executable);
  destroy(args.loaded_executable);
  if (!isTercel()) return;
  for (size_t size = 0; size < saved.size(); size += 1 + saved.size() / 64) {
    args.serialized_executable_size = size;
    EXPECT_NE(WALK_CALL(Executable_DeserializeAndLoad, args), PJRT_Error_Code_OK) << size;
  }
}

TEST_F(ExecutableTest, BadExecutions) {
  if (!isTercel()) GTEST_SKIP() << "XLA aborts on some";
  PJRT_LoadedExecutable* executable = compileAdd();
  PJRT_Buffer* a = makeBuffer({1, 2, 3, 4});
  PJRT_Buffer* wrong = makeBuffer({1, 2, 3});
  PJRT_Buffer* output = nullptr;
  EXPECT_EQ(run(executable, {a}, output), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(run(executable, {a, a, a}, output), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(run(executable, {a, wrong}, output), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(run(executable, {a, nullptr}, output), PJRT_Error_Code_INVALID_ARGUMENT);
  WALK_ARGS(Buffer_Delete, remove);
  remove.buffer = wrong;
  WALK_OK(Buffer_Delete, remove);
  EXPECT_NE(run(executable, {a, wrong}, output), PJRT_Error_Code_OK);
  EXPECT_EQ(run(executable, {a, a}, output), PJRT_Error_Code_OK);
  destroy(output);

  WALK_ARGS(LoadedExecutable_Delete, args);
  args.executable = executable;
  WALK_OK(LoadedExecutable_Delete, args);
  EXPECT_NE(run(executable, {a, a}, output), PJRT_Error_Code_OK);
  for (PJRT_Buffer* buffer : {a, wrong}) destroy(buffer);
  destroy(executable);
}

}  // namespace
}  // namespace walk
