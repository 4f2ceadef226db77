// Buffers and events.
#include <array>
#include <numeric>
#include <thread>

#include "walk.h"

namespace walk {
namespace {

using BufferTest = Walk;
using EventTest = Walk;

bool isDeleted(PJRT_Buffer* buffer) {
  WALK_ARGS(Buffer_IsDeleted, args);
  args.buffer = buffer;
  EXPECT_EQ(WALK_CALL(Buffer_IsDeleted, args), PJRT_Error_Code_OK);
  return args.is_deleted;
}

PJRT_Event* readyEvent(PJRT_Buffer* buffer) {
  WALK_ARGS(Buffer_ReadyEvent, args);
  args.buffer = buffer;
  EXPECT_EQ(WALK_CALL(Buffer_ReadyEvent, args), PJRT_Error_Code_OK);
  return args.event;
}

bool isReady(PJRT_Event* event) {
  WALK_ARGS(Event_IsReady, args);
  args.event = event;
  EXPECT_EQ(WALK_CALL(Event_IsReady, args), PJRT_Error_Code_OK);
  return args.is_ready;
}

void destroyEvent(PJRT_Event* event) {
  WALK_ARGS(Event_Destroy, args);
  args.event = event;
  EXPECT_EQ(WALK_CALL(Event_Destroy, args), PJRT_Error_Code_OK);
}

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST_F(BufferTest, RoundTripAndFacts) {
  PJRT_Buffer* buffer = makeBuffer({1, 2, 3, 4});
  EXPECT_EQ(read(buffer), (std::vector<float>{1, 2, 3, 4}));
  WALK_ARGS(Buffer_ElementType, type);
  type.buffer = buffer;
  WALK_OK(Buffer_ElementType, type);
  EXPECT_EQ(type.type, PJRT_Buffer_Type_F32);
  WALK_ARGS(Buffer_Dimensions, dims);
  dims.buffer = buffer;
  WALK_OK(Buffer_Dimensions, dims);
  ASSERT_EQ(dims.num_dims, 1u);
  EXPECT_EQ(dims.dims[0], 4);
  WALK_ARGS(Buffer_UnpaddedDimensions, unpadded);
  unpadded.buffer = buffer;
  WALK_OK(Buffer_UnpaddedDimensions, unpadded);
  EXPECT_EQ(unpadded.num_dims, 1u);
  WALK_ARGS(Buffer_OnDeviceSizeInBytes, size);
  size.buffer = buffer;
  WALK_OK(Buffer_OnDeviceSizeInBytes, size);
  EXPECT_GE(size.on_device_size_in_bytes, 16u);
  WALK_ARGS(Buffer_IsOnCpu, on_cpu);
  on_cpu.buffer = buffer;
  WALK_OK(Buffer_IsOnCpu, on_cpu);
  EXPECT_TRUE(on_cpu.is_on_cpu);
  WALK_ARGS(Buffer_Device, device);
  device.buffer = buffer;
  WALK_OK(Buffer_Device, device);
  EXPECT_EQ(device.device, devices.front());
  WALK_ARGS(Buffer_Memory, memory);
  memory.buffer = buffer;
  WALK_OK(Buffer_Memory, memory);
  WALK_ARGS(Device_DefaultMemory, standard);
  standard.device = devices.front();
  WALK_OK(Device_DefaultMemory, standard);
  EXPECT_EQ(memory.memory, standard.memory);
  WALK_ARGS(Buffer_GetMemoryLayout, layout);
  layout.buffer = buffer;
  WALK_OK(Buffer_GetMemoryLayout, layout);
  EXPECT_EQ(layout.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
  EXPECT_EQ(layout.layout.tiled.minor_to_major_size, 1u);
  destroy(buffer);
}

TEST_F(BufferTest, EveryElementTypeThatCompilersMake) {
  const std::array<PJRT_Buffer_Type, 15> types = {
      PJRT_Buffer_Type_PRED, PJRT_Buffer_Type_S8,  PJRT_Buffer_Type_S16,  PJRT_Buffer_Type_S32,
      PJRT_Buffer_Type_S64,  PJRT_Buffer_Type_U8,  PJRT_Buffer_Type_U16,  PJRT_Buffer_Type_U32,
      PJRT_Buffer_Type_U64,  PJRT_Buffer_Type_F16, PJRT_Buffer_Type_BF16, PJRT_Buffer_Type_F32,
      PJRT_Buffer_Type_F64,  PJRT_Buffer_Type_C64, PJRT_Buffer_Type_C128};
  const std::array<uint8_t, 6 * 16> bytes = {1, 0, 1, 1, 0, 1, 1};
  const std::array<int64_t, 2> dims = {2, 3};
  for (const PJRT_Buffer_Type type : types) {
    WALK_ARGS(Client_BufferFromHostBuffer, args);
    args.client = client;
    args.data = bytes.data();
    args.type = type;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.device = devices.front();
    WALK_OK(Client_BufferFromHostBuffer, args);
    EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
    WALK_ARGS(Buffer_ToHostBuffer, read);
    read.src = args.buffer;
    WALK_OK(Buffer_ToHostBuffer, read);
    std::vector<uint8_t> back(read.dst_size, 0xee);
    ASSERT_LE(back.size(), bytes.size());
    read.dst = back.data();
    WALK_OK(Buffer_ToHostBuffer, read);
    EXPECT_EQ(await(read.event), PJRT_Error_Code_OK);
    EXPECT_EQ(std::memcmp(back.data(), bytes.data(), back.size()), 0) << type;
    destroy(args.buffer);
  }
}

// Strides as numpy sends them: a transposed array, a step of two, a reversed one.
TEST_F(BufferTest, HostStrides) {
  const std::vector<float> host = counting(24);
  struct Case {
    size_t start;
    std::array<int64_t, 2> dims, strides;
    std::vector<float> wanted;
  };
  const std::vector<Case> cases = {
      {0, {3, 2}, {4, 12}, {0, 3, 1, 4, 2, 5}},
      {0, {2, 3}, {24, 8}, {0, 2, 4, 6, 8, 10}},
      {5, {2, 3}, {-12, -4}, {5, 4, 3, 2, 1, 0}},
  };
  for (const Case& c : cases) {
    WALK_ARGS(Client_BufferFromHostBuffer, args);
    args.client = client;
    args.data = host.data() + c.start;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = c.dims.data();
    args.num_dims = 2;
    args.byte_strides = c.strides.data();
    args.num_byte_strides = 2;
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
    args.device = devices.front();
    WALK_OK(Client_BufferFromHostBuffer, args);
    EXPECT_EQ(read(args.buffer), c.wanted);
    destroy(args.buffer);
    EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
  }
}

TEST_F(BufferTest, EmptyAndScalar) {
  const std::array<int64_t, 2> dims = {0, 5};
  const std::array<int64_t, 2> strides = {0, 0};
  WALK_ARGS(Client_BufferFromHostBuffer, args);
  args.client = client;
  args.data = isTercel() ? nullptr : &dims;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = 2;
  args.byte_strides = strides.data();
  args.num_byte_strides = 2;
  args.device = devices.front();
  WALK_OK(Client_BufferFromHostBuffer, args);
  EXPECT_TRUE(read(args.buffer).empty());
  EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
  destroy(args.buffer);

  const float value = 42;
  args = blank<PJRT_Client_BufferFromHostBuffer_Args>(args.struct_size);
  args.client = client;
  args.data = &value;
  args.type = PJRT_Buffer_Type_F32;
  args.device = devices.front();
  WALK_OK(Client_BufferFromHostBuffer, args);
  EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
  EXPECT_EQ(read(args.buffer), std::vector<float>{42});
  destroy(args.buffer);
}

TEST_F(BufferTest, BadShapesAreErrors) {
  if (!isTercel()) GTEST_SKIP() << "XLA aborts";
  const float value = 0;
  const std::array<int64_t, 2> negative = {-1, 2};
  const std::array<int64_t, 2> huge = {int64_t{1} << 40, int64_t{1} << 40};
  for (const auto& dims : {negative, huge}) {
    WALK_ARGS(Client_BufferFromHostBuffer, args);
    args.client = client;
    args.data = &value;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims.data();
    args.num_dims = 2;
    args.device = devices.front();
    EXPECT_NE(WALK_CALL(Client_BufferFromHostBuffer, args), PJRT_Error_Code_OK);
  }
  WALK_ARGS(Client_BufferFromHostBuffer, args);
  args.client = client;
  args.data = &value;
  args.device = devices.front();
  for (const int type : {0, 1000, -1}) {
    args.type = static_cast<PJRT_Buffer_Type>(type);
    const Outcome outcome = WALK_CALL(Client_BufferFromHostBuffer, args);
    EXPECT_NE(outcome, PJRT_Error_Code_OK) << type;
  }
}

TEST_F(BufferTest, MoreMemoryThanThereIs) {
  if (!isTercel()) GTEST_SKIP() << "XLA aborts";
  const int64_t dim = int64_t{1} << 45;
  WALK_ARGS(Client_CreateUninitializedBuffer, args);
  args.client = client;
  args.shape_dims = &dim;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.device = devices.front();
  EXPECT_EQ(WALK_CALL(Client_CreateUninitializedBuffer, args), PJRT_Error_Code_RESOURCE_EXHAUSTED);
}

TEST_F(BufferTest, DeleteThenUse) {
  PJRT_Buffer* buffer = makeBuffer({1, 2});
  EXPECT_FALSE(isDeleted(buffer));
  WALK_ARGS(Buffer_Delete, args);
  args.buffer = buffer;
  WALK_OK(Buffer_Delete, args);
  EXPECT_TRUE(isDeleted(buffer));
  WALK_ARGS(Buffer_ToHostBuffer, read);
  read.src = buffer;
  std::array<float, 2> host = {};
  read.dst = host.data();
  read.dst_size = sizeof host;
  const Outcome outcome = WALK_CALL(Buffer_ToHostBuffer, read);
  if (outcome.code == PJRT_Error_Code_OK) {
    EXPECT_NE(await(read.event), PJRT_Error_Code_OK);
  }
  destroy(buffer);
}

TEST_F(BufferTest, ToHostBufferChecksItsSize) {
  if (!isTercel()) GTEST_SKIP();
  PJRT_Buffer* buffer = makeBuffer({1, 2});
  float host = 0;
  WALK_ARGS(Buffer_ToHostBuffer, args);
  args.src = buffer;
  args.dst = &host;
  args.dst_size = sizeof host;
  EXPECT_EQ(WALK_CALL(Buffer_ToHostBuffer, args), PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

TEST_F(BufferTest, ReadyEvent) {
  PJRT_Buffer* buffer = makeBuffer({1});
  PJRT_Event* event = readyEvent(buffer);
  WALK_ARGS(Event_Await, args);
  args.event = event;
  WALK_OK(Event_Await, args);
  EXPECT_TRUE(isReady(event));
  WALK_ARGS(Event_Error, error);
  error.event = event;
  WALK_OK(Event_Error, error);
  destroyEvent(event);
  destroy(buffer);
}

TEST_F(BufferTest, ExternalReferences) {
  PJRT_Buffer* buffer = makeBuffer({7});
  WALK_ARGS(Buffer_IncreaseExternalReferenceCount, up);
  up.buffer = buffer;
  WALK_OK(Buffer_IncreaseExternalReferenceCount, up);
  WALK_ARGS(Buffer_OpaqueDeviceMemoryDataPointer, pointer);
  pointer.buffer = buffer;
  WALK_OK(Buffer_OpaqueDeviceMemoryDataPointer, pointer);
  ASSERT_NE(pointer.device_memory_ptr, nullptr);
  EXPECT_EQ(*static_cast<float*>(pointer.device_memory_ptr), 7);
  WALK_ARGS(Buffer_UnsafePointer, unsafe);
  unsafe.buffer = buffer;
  WALK_OK(Buffer_UnsafePointer, unsafe);
  EXPECT_EQ(unsafe.buffer_pointer, reinterpret_cast<uintptr_t>(pointer.device_memory_ptr));
  WALK_ARGS(Buffer_DecreaseExternalReferenceCount, down);
  down.buffer = buffer;
  WALK_OK(Buffer_DecreaseExternalReferenceCount, down);
  EXPECT_EQ(WALK_CALL(Buffer_DecreaseExternalReferenceCount, down),
            PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

TEST_F(BufferTest, CopyRawToHost) {
  PJRT_Buffer* buffer = makeBuffer({0, 1, 2, 3});
  std::array<float, 2> host = {};
  WALK_ARGS(Buffer_CopyRawToHost, args);
  args.buffer = buffer;
  args.dst = host.data();
  args.offset = 4;
  args.transfer_size = 8;
  const Outcome outcome = WALK_CALL(Buffer_CopyRawToHost, args);
  if (outcome.code == PJRT_Error_Code_UNIMPLEMENTED) GTEST_SKIP() << outcome.message;
  EXPECT_EQ(outcome, PJRT_Error_Code_OK);
  EXPECT_EQ(await(args.event), PJRT_Error_Code_OK);
  EXPECT_EQ(host, (std::array<float, 2>{1, 2}));
  for (const int64_t bad : {int64_t{12}, int64_t{-4}, INT64_MAX - 4}) {
    args.offset = bad;
    const Outcome bad_outcome = WALK_CALL(Buffer_CopyRawToHost, args);
    EXPECT_NE(bad_outcome.code == PJRT_Error_Code_OK ? await(args.event) : bad_outcome,
              PJRT_Error_Code_OK);
  }
  destroy(buffer);
}

TEST_F(BufferTest, CopyToOtherMemory) {
  PJRT_Buffer* buffer = makeBuffer({5, 6});
  WALK_ARGS(Device_AddressableMemories, memories);
  memories.device = devices.back();
  WALK_OK(Device_AddressableMemories, memories);
  for (size_t i = 0; i < memories.num_memories; ++i) {
    WALK_ARGS(Buffer_CopyToMemory, args);
    args.buffer = buffer;
    args.dst_memory = memories.memories[i];
    const Outcome outcome = WALK_CALL(Buffer_CopyToMemory, args);
    if (outcome.code != PJRT_Error_Code_OK) continue;  // the memory it is in already
    EXPECT_EQ(read(args.dst_buffer), (std::vector<float>{5, 6}));
    WALK_ARGS(Buffer_Memory, memory);
    memory.buffer = args.dst_buffer;
    WALK_OK(Buffer_Memory, memory);
    EXPECT_EQ(memory.memory, memories.memories[i]);
    destroy(args.dst_buffer);
  }
  destroy(buffer);
}

TEST_F(BufferTest, ViewOfDeviceBuffer) {
  alignas(64) static std::array<float, 4> bytes;
  bytes = {1, 2, 3, 4};
  static int deleted;
  deleted = 0;
  const int64_t dim = 4;
  WALK_ARGS(Client_CreateViewOfDeviceBuffer, args);
  args.client = client;
  args.device_buffer_ptr = bytes.data();
  args.dims = &dim;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = devices.front();
  args.on_delete_callback = [](void*, void* user) { ++*static_cast<int*>(user); };
  args.on_delete_callback_arg = &deleted;
  WALK_OK(Client_CreateViewOfDeviceBuffer, args);
  EXPECT_EQ(read(args.buffer), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(deleted, 0);
  destroy(args.buffer);
  EXPECT_EQ(deleted, 1);
}

TEST_F(BufferTest, Uninitialized) {
  const int64_t dim = 3;
  WALK_ARGS(Client_CreateUninitializedBuffer, args);
  args.client = client;
  args.shape_dims = &dim;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.device = devices.front();
  WALK_OK(Client_CreateUninitializedBuffer, args);
  EXPECT_EQ(read(args.buffer).size(), 3u);
  destroy(args.buffer);
}

TEST_F(BufferTest, LayoutIsRowMajor) {
  auto* ext =
      reinterpret_cast<const PJRT_Layouts_Extension*>(extension(PJRT_Extension_Type_Layouts));
  ASSERT_NE(ext, nullptr);
  const std::array<int64_t, 3> dims = {2, 3, 4};
  WALK_ARGS(Layouts_PJRT_Client_GetDefaultLayout, args);
  args.client = client;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  ASSERT_EQ(take(ext->PJRT_Layouts_PJRT_Client_GetDefaultLayout(&args)), PJRT_Error_Code_OK);
  WALK_ARGS(Layouts_MemoryLayout_Serialize, text);
  text.layout = args.layout;
  ASSERT_EQ(take(ext->PJRT_Layouts_MemoryLayout_Serialize(&text)), PJRT_Error_Code_OK);
  EXPECT_EQ(std::string(text.serialized_bytes, text.serialized_bytes_size), "{2,1,0}");
  text.serialized_layout_deleter(text.serialized_layout);
  WALK_ARGS(Layouts_MemoryLayout_Destroy, destroy);
  destroy.layout = args.layout;
  ASSERT_EQ(take(ext->PJRT_Layouts_MemoryLayout_Destroy(&destroy)), PJRT_Error_Code_OK);
}

TEST_F(EventTest, CreateAwaitSetOnReady) {
  WALK_ARGS(Event_Create, args);
  const Outcome created = WALK_CALL(Event_Create, args);
  if (created.code == PJRT_Error_Code_UNIMPLEMENTED) GTEST_SKIP() << created.message;
  EXPECT_FALSE(isReady(args.event));
  Outcome seen;
  WALK_ARGS(Event_OnReady, on_ready);
  on_ready.event = args.event;
  on_ready.callback = [](PJRT_Error* error, void* user) {
    *static_cast<Outcome*>(user) = take(error);
  };
  on_ready.user_arg = &seen;
  WALK_OK(Event_OnReady, on_ready);
  std::thread setter([event = args.event] {
    WALK_ARGS(Event_Set, set);
    set.event = event;
    set.error_code = PJRT_Error_Code_DATA_LOSS;
    set.error_message = "gone";
    set.error_message_size = 4;
    EXPECT_EQ(WALK_CALL(Event_Set, set), PJRT_Error_Code_OK);
  });
  WALK_ARGS(Event_Await, wait);
  wait.event = args.event;
  const Outcome outcome = WALK_CALL(Event_Await, wait);
  EXPECT_EQ(outcome, PJRT_Error_Code_DATA_LOSS);
  EXPECT_EQ(outcome.message, "gone");
  setter.join();
  EXPECT_EQ(seen, PJRT_Error_Code_DATA_LOSS);
  WALK_ARGS(Event_Error, error);
  error.event = args.event;
  EXPECT_EQ(WALK_CALL(Event_Error, error), PJRT_Error_Code_DATA_LOSS);
  destroyEvent(args.event);
}

}  // namespace
}  // namespace walk
