// Arrays whose dimensions lie in memory in another order.
#include <array>

#include "walk.h"

namespace walk {
namespace {

// The order of the dimensions, innermost first, or their strides in bytes.
struct Layout : PJRT_Buffer_MemoryLayout {
  explicit Layout(std::vector<int64_t> n,
                  PJRT_Buffer_MemoryLayout_Type kind = PJRT_Buffer_MemoryLayout_Type_Tiled)
      : PJRT_Buffer_MemoryLayout(
            blank<PJRT_Buffer_MemoryLayout>(PJRT_Buffer_MemoryLayout_STRUCT_SIZE)),
        numbers(std::move(n)) {
    type = kind;
    if (kind == PJRT_Buffer_MemoryLayout_Type_Tiled) {
      tiled = {PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE, nullptr, numbers.data(),
               numbers.size()};
    } else {
      strides = {PJRT_Buffer_MemoryLayout_Strides_STRUCT_SIZE, nullptr, numbers.data(),
                 numbers.size()};
    }
  }
  Layout(const Layout&) = delete;
  std::vector<int64_t> numbers;
};

constexpr auto kStrides = PJRT_Buffer_MemoryLayout_Type_Strides;
constexpr std::array<int64_t, 2> kDims = {2, 3};
constexpr std::array<float, 6> kRows = {0, 1, 2, 10, 11, 12};
constexpr std::array<float, 6> kColumns = {0, 10, 1, 11, 2, 12};

class LayoutTest : public Walk {
 protected:
  Outcome put(const float* host, PJRT_Buffer_MemoryLayout* layout, PJRT_Buffer*& buffer) {
    WALK_ARGS(Client_BufferFromHostBuffer, args);
    args.client = client;
    args.data = host;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = kDims.data();
    args.num_dims = kDims.size();
    args.device = devices.front();
    args.device_layout = layout;
    const Outcome outcome = WALK_CALL(Client_BufferFromHostBuffer, args);
    buffer = args.buffer;
    if (outcome == PJRT_Error_Code_OK) {
      EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
    }
    return outcome;
  }
  PJRT_Buffer* columns() {
    PJRT_Buffer* buffer = nullptr;
    Layout layout({0, 1});
    EXPECT_EQ(put(kRows.data(), &layout, buffer), PJRT_Error_Code_OK);
    return buffer;
  }

  std::array<float, 6> toHost(PJRT_Buffer* buffer, PJRT_Buffer_MemoryLayout* layout) {
    std::array<float, 6> host = {};
    WALK_ARGS(Buffer_ToHostBuffer, args);
    args.src = buffer;
    args.dst = host.data();
    args.dst_size = sizeof host;
    args.host_layout = layout;
    EXPECT_EQ(WALK_CALL(Buffer_ToHostBuffer, args), PJRT_Error_Code_OK);
    EXPECT_EQ(await(args.event), PJRT_Error_Code_OK);
    return host;
  }
  std::array<float, 6> rowsOf(PJRT_Buffer* buffer) {
    Layout rows({1, 0});
    return toHost(buffer, &rows);
  }
  // The bytes as they lie.
  std::array<float, 6> memoryOf(PJRT_Buffer* buffer) {
    std::array<float, 6> host = {};
    WALK_ARGS(Buffer_CopyRawToHost, args);
    args.buffer = buffer;
    args.dst = host.data();
    args.transfer_size = sizeof host;
    EXPECT_EQ(WALK_CALL(Buffer_CopyRawToHost, args), PJRT_Error_Code_OK);
    EXPECT_EQ(await(args.event), PJRT_Error_Code_OK);
    return host;
  }

  const PJRT_Layouts_Extension& layouts() {
    return *reinterpret_cast<const PJRT_Layouts_Extension*>(
        extension(PJRT_Extension_Type_Layouts));
  }
  std::string textOf(PJRT_Layouts_MemoryLayout* layout) {
    WALK_ARGS(Layouts_MemoryLayout_Serialize, args);
    args.layout = layout;
    EXPECT_EQ(take(layouts().PJRT_Layouts_MemoryLayout_Serialize(&args)), PJRT_Error_Code_OK);
    std::string text(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_layout_deleter(args.serialized_layout);
    return text;
  }
  std::string layoutOf(PJRT_Buffer* buffer) {
    WALK_ARGS(Layouts_PJRT_Buffer_MemoryLayout, args);
    args.buffer = buffer;
    EXPECT_EQ(take(layouts().PJRT_Layouts_PJRT_Buffer_MemoryLayout(&args)), PJRT_Error_Code_OK);
    std::string text = textOf(args.layout);
    WALK_ARGS(Layouts_MemoryLayout_Destroy, destroy);
    destroy.layout = args.layout;
    EXPECT_EQ(take(layouts().PJRT_Layouts_MemoryLayout_Destroy(&destroy)), PJRT_Error_Code_OK);
    return text;
  }
  std::vector<int64_t> dimsOf(PJRT_Buffer* buffer) {
    WALK_ARGS(Buffer_Dimensions, args);
    args.buffer = buffer;
    EXPECT_EQ(WALK_CALL(Buffer_Dimensions, args), PJRT_Error_Code_OK);
    return {args.dims, args.dims + args.num_dims};
  }
};

const std::vector<int64_t> kShown(kDims.begin(), kDims.end());

TEST_F(LayoutTest, ABufferShowsItsDimensionsAndItsLayout) {
  PJRT_Buffer* buffer = columns();
  EXPECT_EQ(dimsOf(buffer), kShown);
  EXPECT_EQ(layoutOf(buffer), "{0,1}");
  WALK_ARGS(Buffer_GetMemoryLayout, args);
  args.buffer = buffer;
  WALK_OK(Buffer_GetMemoryLayout, args);
  ASSERT_EQ(args.layout.tiled.minor_to_major_size, 2u);
  EXPECT_EQ(args.layout.tiled.minor_to_major[0], 0);
  EXPECT_EQ(args.layout.tiled.minor_to_major[1], 1);
  EXPECT_EQ(memoryOf(buffer), kColumns);
  destroy(buffer);
}

TEST_F(LayoutTest, ToHostInAnyOrder) {
  PJRT_Buffer* buffer = columns();
  EXPECT_EQ(toHost(buffer, nullptr), kColumns);
  EXPECT_EQ(rowsOf(buffer), kRows);
  Layout turned({0, 1});
  EXPECT_EQ(toHost(buffer, &turned), kColumns);
  Layout by_strides({12, 4}, kStrides);
  EXPECT_EQ(toHost(buffer, &by_strides), kRows);
  Layout by_turned_strides({4, 8}, kStrides);
  EXPECT_EQ(toHost(buffer, &by_turned_strides), kColumns);
  PJRT_Buffer* rows = nullptr;
  ASSERT_EQ(put(kRows.data(), nullptr, rows), PJRT_Error_Code_OK);
  EXPECT_EQ(toHost(rows, &turned), kColumns);
  destroy(rows);
  destroy(buffer);
}

// A host array that lies as the device's is to is not copied.
TEST_F(LayoutTest, ZeroCopyOfColumns) {
  if (!isTercel()) GTEST_SKIP();
  alignas(64) static const std::array<float, 6> host = kColumns;
  const std::array<int64_t, 2> bytes = {4, 8};
  Layout layout({0, 1});
  WALK_ARGS(Client_BufferFromHostBuffer, args);
  args.client = client;
  args.data = host.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = kDims.data();
  args.num_dims = kDims.size();
  args.byte_strides = bytes.data();
  args.num_byte_strides = bytes.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  args.device = devices.front();
  args.device_layout = &layout;
  WALK_OK(Client_BufferFromHostBuffer, args);
  WALK_ARGS(Buffer_UnsafePointer, pointer);
  pointer.buffer = args.buffer;
  WALK_OK(Buffer_UnsafePointer, pointer);
  EXPECT_EQ(pointer.buffer_pointer, reinterpret_cast<uintptr_t>(host.data()));
  EXPECT_EQ(rowsOf(args.buffer), kRows);
  destroy(args.buffer);
  EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
}

TEST_F(LayoutTest, CopiesAndBitcastsKeepOrChangeIt) {
  PJRT_Buffer* buffer = columns();
  WALK_ARGS(Buffer_CopyToDevice, copy);
  copy.buffer = buffer;
  copy.dst_device = devices.back();
  WALK_OK(Buffer_CopyToDevice, copy);
  EXPECT_EQ(layoutOf(copy.dst_buffer), "{0,1}");
  EXPECT_EQ(rowsOf(copy.dst_buffer), kRows);
  destroy(copy.dst_buffer);
  if (isTercel()) {
    Layout rows({1, 0});
    WALK_ARGS(Buffer_Bitcast, cast);
    cast.buffer = buffer;
    cast.element_type = PJRT_Buffer_Type_F32;
    cast.dims = kDims.data();
    cast.num_dims = kDims.size();
    cast.device_layout = &rows;
    WALK_OK(Buffer_Bitcast, cast);
    EXPECT_EQ(layoutOf(cast.out_buffer), "{1,0}");
    EXPECT_EQ(rowsOf(cast.out_buffer), kColumns);
    destroy(cast.out_buffer);
  }
  destroy(buffer);
}

TEST_F(LayoutTest, ViewsAndEmptyBuffersHaveOneToo) {
  alignas(64) std::array<float, 6> device = kColumns;
  Layout layout({0, 1});
  WALK_ARGS(Client_CreateViewOfDeviceBuffer, view);
  view.client = client;
  view.device_buffer_ptr = device.data();
  view.element_type = PJRT_Buffer_Type_F32;
  view.dims = kDims.data();
  view.num_dims = kDims.size();
  view.layout = &layout;
  view.device = devices.front();
  WALK_OK(Client_CreateViewOfDeviceBuffer, view);
  EXPECT_EQ(layoutOf(view.buffer), "{0,1}");
  EXPECT_EQ(rowsOf(view.buffer), kRows);
  destroy(view.buffer);
  WALK_ARGS(Client_CreateUninitializedBuffer, blank);
  blank.client = client;
  blank.shape_dims = kDims.data();
  blank.shape_num_dims = kDims.size();
  blank.shape_element_type = PJRT_Buffer_Type_F32;
  blank.shape_layout = &layout;
  blank.device = devices.front();
  WALK_OK(Client_CreateUninitializedBuffer, blank);
  EXPECT_EQ(layoutOf(blank.buffer), "{0,1}");
  EXPECT_EQ(dimsOf(blank.buffer), kShown);
  destroy(blank.buffer);
}

// A literal comes in its own order, raw data in the buffer's.
TEST_F(LayoutTest, TransfersInPieces) {
  if (!isTercel()) GTEST_SKIP();
  for (const bool is_literal : {true, false}) {
    Layout rows({1, 0}), turned({0, 1});
    PJRT_Buffer_MemoryLayout* device_layout = &turned;
    PJRT_ShapeSpec spec = {PJRT_ShapeSpec_STRUCT_SIZE, nullptr, kDims.data(), kDims.size(),
                           PJRT_Buffer_Type_F32};
    WALK_ARGS(Device_DefaultMemory, memory);
    memory.device = devices.front();
    WALK_OK(Device_DefaultMemory, memory);
    WALK_ARGS(Client_CreateBuffersForAsyncHostToDevice, create);
    create.client = client;
    create.shape_specs = &spec;
    create.num_shape_specs = 1;
    create.device_layouts = &device_layout;
    create.num_device_layouts = 1;
    create.memory = memory.memory;
    WALK_OK(Client_CreateBuffersForAsyncHostToDevice, create);
    WALK_ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    retrieve.transfer_manager = create.transfer_manager;
    WALK_OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    PJRT_Event* done = nullptr;
    if (is_literal) {
      WALK_ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, args);
      args.transfer_manager = create.transfer_manager;
      args.data = kRows.data();
      args.shape_dims = kDims.data();
      args.shape_num_dims = kDims.size();
      args.shape_element_type = PJRT_Buffer_Type_F32;
      args.shape_layout = &rows;
      WALK_OK(AsyncHostToDeviceTransferManager_TransferLiteral, args);
      done = args.done_with_h2d_transfer;
    } else {
      WALK_ARGS(AsyncHostToDeviceTransferManager_TransferData, args);
      args.transfer_manager = create.transfer_manager;
      args.data = kColumns.data();
      args.transfer_size = sizeof kColumns;
      args.is_last_transfer = true;
      WALK_OK(AsyncHostToDeviceTransferManager_TransferData, args);
      done = args.done_with_h2d_transfer;
    }
    EXPECT_EQ(await(done), PJRT_Error_Code_OK);
    EXPECT_EQ(layoutOf(retrieve.buffer_out), "{0,1}");
    EXPECT_EQ(rowsOf(retrieve.buffer_out), kRows);
    destroy(retrieve.buffer_out);
    WALK_ARGS(AsyncHostToDeviceTransferManager_Destroy, end);
    end.transfer_manager = create.transfer_manager;
    WALK_OK(AsyncHostToDeviceTransferManager_Destroy, end);
  }
}

// Strides of an array without elements, or of a dimension of length 1, say nothing.
TEST_F(LayoutTest, StridesThatDoNotMatter) {
  const float value = 1;
  for (const std::array<int64_t, 2> dims : {std::array<int64_t, 2>{5, 0}, {0, 5}, {1, 1}}) {
    Layout bytes({4, 4}, kStrides);
    WALK_ARGS(Client_BufferFromHostBuffer, args);
    args.client = client;
    args.data = &value;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.device = devices.front();
    WALK_OK(Client_BufferFromHostBuffer, args);
    EXPECT_EQ(await(args.done_with_host_buffer), PJRT_Error_Code_OK);
    float host = 0;
    WALK_ARGS(Buffer_ToHostBuffer, read);
    read.src = args.buffer;
    read.dst = &host;
    read.dst_size = sizeof host * static_cast<size_t>(dims[0] * dims[1]);
    read.host_layout = &bytes;
    WALK_OK(Buffer_ToHostBuffer, read);
    EXPECT_EQ(await(read.event), PJRT_Error_Code_OK);
    EXPECT_EQ(host, dims[0] == 1 ? 1 : 0);
    destroy(args.buffer);
  }
}

// Takes columns and rows, gives their sum in columns.
constexpr std::string_view kSum = R"(module @sum {
  func @main(%0: f32[2,3] {layout_mode = "{0,1}"}, %1: f32[2,3]) -> (f32[2,3] {layout_mode = "{0,1}"}) {
    %2 = add(%0, %1) : f32[2,3]
    return %2
  }
})";

TEST_F(LayoutTest, ProgramsTakeAndGiveWhatTheySay) {
  if (!isTercel()) GTEST_SKIP() << "the text is ours";
  PJRT_LoadedExecutable* executable = nullptr;
  ASSERT_EQ(compile(kSum, "mlir", kOneDevice, executable), PJRT_Error_Code_OK);
  PJRT_Executable* facts = unloaded(executable);
  WALK_ARGS(Layouts_PJRT_Executable_GetParameterLayouts, in);
  in.executable = facts;
  ASSERT_EQ(take(layouts().PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&in)),
            PJRT_Error_Code_OK);
  ASSERT_EQ(in.num_parameters, 2u);
  EXPECT_EQ(textOf(in.layouts[0]), "{0,1}");
  EXPECT_EQ(textOf(in.layouts[1]), "{1,0}");
  WALK_ARGS(Layouts_PJRT_Executable_GetOutputLayouts, out);
  out.executable = facts;
  ASSERT_EQ(take(layouts().PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&out)),
            PJRT_Error_Code_OK);
  ASSERT_EQ(out.num_outputs, 1u);
  EXPECT_EQ(textOf(out.layouts[0]), "{0,1}");
  WALK_ARGS(Executable_OutputDimensions, dims);
  dims.executable = facts;
  WALK_OK(Executable_OutputDimensions, dims);
  EXPECT_EQ(std::vector<int64_t>(dims.dims, dims.dims + 2), kShown);
  destroy(facts);

  PJRT_Buffer* a = columns();
  PJRT_Buffer* b = nullptr;
  ASSERT_EQ(put(kRows.data(), nullptr, b), PJRT_Error_Code_OK);
  std::vector<PJRT_Buffer*> outputs;
  ASSERT_EQ(run(executable, {a, b}, outputs), PJRT_Error_Code_OK);
  EXPECT_EQ(dimsOf(outputs.at(0)), kShown);
  EXPECT_EQ(layoutOf(outputs.at(0)), "{0,1}");
  EXPECT_EQ(rowsOf(outputs.at(0)), (std::array<float, 6>{0, 2, 4, 20, 22, 24}));
  destroy(outputs.at(0));
  const Outcome wrong = run(executable, {b, b}, outputs);
  EXPECT_EQ(wrong, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(wrong.message.find("argument 0 is f32[2,3]; expected f32[2,3]{0,1}"),
            std::string::npos)
      << wrong.message;
  EXPECT_EQ(run(executable, {a, a}, outputs), PJRT_Error_Code_INVALID_ARGUMENT);
  for (PJRT_Buffer* buffer : {a, b}) destroy(buffer);
  destroy(executable);
}

TEST_F(LayoutTest, OthersAreRefused) {
  if (!isTercel()) GTEST_SKIP() << "XLA aborts on some";
  PJRT_Buffer* buffer = nullptr;
  for (std::vector<int64_t> order : {std::vector<int64_t>{0}, {0, 0}, {0, 2}, {-1, 0}, {0, 1, 2}}) {
    Layout layout(order);
    EXPECT_EQ(put(kRows.data(), &layout, buffer), PJRT_Error_Code_INVALID_ARGUMENT);
  }
  Layout tiles({1, 0});
  tiles.tiled.num_tiles = 1;
  const Outcome tiled = put(kRows.data(), &tiles, buffer);
  EXPECT_EQ(tiled, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_NE(tiled.message.find("layouts with tiles"), std::string::npos) << tiled.message;
  for (std::vector<int64_t> bytes : {std::vector<int64_t>{16, 4}, {4, 4}, {-12, 4}, {0, 4}}) {
    Layout gaps(bytes, kStrides);
    const Outcome outcome = put(kRows.data(), &gaps, buffer);
    EXPECT_EQ(outcome, PJRT_Error_Code_UNIMPLEMENTED);
    EXPECT_NE(outcome.message.find("not dense"), std::string::npos) << outcome.message;
  }
  PJRT_LoadedExecutable* executable = nullptr;
  std::string program(kSum);
  program.replace(program.find("{0,1}"), 5, "{0,1:T(8,128)}");
  const Outcome refused = compile(program, "mlir", kOneDevice, executable);
  EXPECT_EQ(refused, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_NE(refused.message.find("argument 0: the layout {0,1:T(8,128)}"), std::string::npos)
      << refused.message;
}

}  // namespace
}  // namespace walk
