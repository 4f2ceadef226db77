// Buffers that are completed later: transfers in pieces, aliases, error buffers, donation.
#include <array>

#include "walk.h"

namespace walk {
namespace {

class TransferTest : public Walk {
 protected:
  PJRT_Memory* memory() {
    WALK_ARGS(Device_DefaultMemory, args);
    args.device = devices.front();
    EXPECT_EQ(WALK_CALL(Device_DefaultMemory, args), PJRT_Error_Code_OK);
    return args.memory;
  }

  // A manager of `count` buffers f32[4].
  PJRT_AsyncHostToDeviceTransferManager* manager(size_t count) {
    std::vector<PJRT_ShapeSpec> specs(count, blank<PJRT_ShapeSpec>(PJRT_ShapeSpec_STRUCT_SIZE));
    for (PJRT_ShapeSpec& spec : specs) {
      spec.dims = &kFour;
      spec.num_dims = 1;
      spec.element_type = PJRT_Buffer_Type_F32;
    }
    WALK_ARGS(Client_CreateBuffersForAsyncHostToDevice, args);
    args.client = client;
    args.shape_specs = specs.data();
    args.num_shape_specs = specs.size();
    args.memory = memory();
    EXPECT_EQ(WALK_CALL(Client_CreateBuffersForAsyncHostToDevice, args), PJRT_Error_Code_OK);
    return args.transfer_manager;
  }

  PJRT_Buffer* retrieve(PJRT_AsyncHostToDeviceTransferManager* manager, int index) {
    WALK_ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, args);
    args.transfer_manager = manager;
    args.buffer_index = index;
    EXPECT_EQ(WALK_CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, args), PJRT_Error_Code_OK);
    return args.buffer_out;
  }

  void destroyManager(PJRT_AsyncHostToDeviceTransferManager* manager) {
    WALK_ARGS(AsyncHostToDeviceTransferManager_Destroy, args);
    args.transfer_manager = manager;
    EXPECT_EQ(WALK_CALL(AsyncHostToDeviceTransferManager_Destroy, args), PJRT_Error_Code_OK);
  }

  Outcome send(PJRT_AsyncHostToDeviceTransferManager* manager, int index, const float* data,
               int64_t offset, int64_t size, bool last) {
    WALK_ARGS(AsyncHostToDeviceTransferManager_TransferData, args);
    args.transfer_manager = manager;
    args.buffer_index = index;
    args.data = data;
    args.offset = offset;
    args.transfer_size = size;
    args.is_last_transfer = last;
    const Outcome outcome = WALK_CALL(AsyncHostToDeviceTransferManager_TransferData, args);
    return outcome.code == PJRT_Error_Code_OK ? await(args.done_with_h2d_transfer) : outcome;
  }

  Outcome ready(PJRT_Buffer* buffer) {
    WALK_ARGS(Buffer_ReadyEvent, args);
    args.buffer = buffer;
    EXPECT_EQ(WALK_CALL(Buffer_ReadyEvent, args), PJRT_Error_Code_OK);
    return await(args.event);
  }

  const int64_t kFour = 4;
  const std::array<float, 4> kValues = {1, 2, 3, 4};
};

TEST_F(TransferTest, InPieces) {
  auto* transfers = manager(2);
  WALK_ARGS(AsyncHostToDeviceTransferManager_BufferCount, count);
  count.transfer_manager = transfers;
  WALK_OK(AsyncHostToDeviceTransferManager_BufferCount, count);
  EXPECT_EQ(count.buffer_count, 2u);
  WALK_ARGS(AsyncHostToDeviceTransferManager_BufferSize, size);
  size.transfer_manager = transfers;
  size.buffer_index = 1;
  WALK_OK(AsyncHostToDeviceTransferManager_BufferSize, size);
  EXPECT_EQ(size.buffer_size, 16u);
  WALK_ARGS(AsyncHostToDeviceTransferManager_Device, device);
  device.transfer_manager = transfers;
  WALK_OK(AsyncHostToDeviceTransferManager_Device, device);
  EXPECT_EQ(device.device_out, devices.front());
  PJRT_Buffer* buffer = retrieve(transfers, 0);
  EXPECT_EQ(send(transfers, 0, &kValues[2], 8, 8, false), PJRT_Error_Code_OK);
  EXPECT_EQ(send(transfers, 0, &kValues[0], 0, 8, true), PJRT_Error_Code_OK);
  EXPECT_EQ(read(buffer), (std::vector<float>{1, 2, 3, 4}));
  destroy(buffer);
  EXPECT_EQ(send(transfers, 1, &kValues[0], 0, 16, true), PJRT_Error_Code_OK);
  PJRT_Buffer* other = retrieve(transfers, 1);
  destroyManager(transfers);
  EXPECT_EQ(read(other), (std::vector<float>{1, 2, 3, 4}));
  destroy(other);
}

TEST_F(TransferTest, Refusals) {
  if (!isTercel()) GTEST_SKIP() << "XLA checks less";
  auto* transfers = manager(1);
  const float* data = kValues.data();
  EXPECT_EQ(send(transfers, 1, data, 0, 16, true), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(send(transfers, -1, data, 0, 16, true), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(send(transfers, 0, data, 4, 16, true), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(send(transfers, 0, data, INT64_MAX, 1, true), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(send(transfers, 0, data, 0, -1, true), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(send(transfers, 0, nullptr, 0, 16, true), PJRT_Error_Code_INVALID_ARGUMENT);
  PJRT_Buffer* buffer = retrieve(transfers, 0);
  WALK_ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, again);
  again.transfer_manager = transfers;
  EXPECT_EQ(WALK_CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, again),
            PJRT_Error_Code_INVALID_ARGUMENT);
  destroyManager(transfers);
  EXPECT_EQ(ready(buffer), PJRT_Error_Code_CANCELLED);  // nobody will fill it any more
  destroy(buffer);
}

TEST_F(TransferTest, SetBufferError) {
  auto* transfers = manager(1);
  PJRT_Buffer* buffer = retrieve(transfers, 0);
  WALK_ARGS(AsyncHostToDeviceTransferManager_SetBufferError, args);
  args.transfer_manager = transfers;
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = "lost";
  args.error_message_size = 4;
  WALK_OK(AsyncHostToDeviceTransferManager_SetBufferError, args);
  const Outcome outcome = ready(buffer);
  EXPECT_NE(outcome, PJRT_Error_Code_OK);
  EXPECT_NE(outcome.message.find("lost"), std::string::npos) << outcome.message;
  destroy(buffer);
  destroyManager(transfers);
}

TEST_F(TransferTest, Literal) {
  auto* transfers = manager(1);
  PJRT_Buffer* buffer = retrieve(transfers, 0);
  WALK_ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, args);
  args.transfer_manager = transfers;
  args.data = kValues.data();
  args.shape_dims = &kFour;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  const int64_t minor_to_major = 0;
  auto layout = blank<PJRT_Buffer_MemoryLayout>(PJRT_Buffer_MemoryLayout_STRUCT_SIZE);
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = &minor_to_major;
  layout.tiled.minor_to_major_size = 1;
  args.shape_layout = &layout;
  WALK_OK(AsyncHostToDeviceTransferManager_TransferLiteral, args);
  EXPECT_EQ(await(args.done_with_h2d_transfer), PJRT_Error_Code_OK);
  EXPECT_EQ(read(buffer), (std::vector<float>{1, 2, 3, 4}));
  destroy(buffer);
  destroyManager(transfers);
}

TEST_F(TransferTest, ErrorBuffer) {
  if (!isTercel()) GTEST_SKIP();
  WALK_ARGS(Client_CreateErrorBuffer, args);
  args.client = client;
  args.error_code = PJRT_Error_Code_ABORTED;
  args.error_message = "stop";
  args.error_message_size = 4;
  args.shape_dims = &kFour;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = memory();
  WALK_OK(Client_CreateErrorBuffer, args);
  const Outcome outcome = ready(args.buffer);
  EXPECT_EQ(outcome, PJRT_Error_Code_ABORTED);
  EXPECT_EQ(outcome.message, "stop");
  destroy(args.buffer);
}

TEST_F(TransferTest, Alias) {
  if (!isTercel()) GTEST_SKIP();
  for (const bool good : {true, false}) {
    WALK_ARGS(Client_CreateAliasBuffer, args);
    args.client = client;
    args.memory = memory();
    args.shape_dims = &kFour;
    args.shape_num_dims = 1;
    args.shape_element_type = PJRT_Buffer_Type_F32;
    WALK_OK(Client_CreateAliasBuffer, args);
    PJRT_Buffer* source = makeBuffer({4, 3, 2, 1});
    WALK_ARGS(Client_FulfillAliasBuffer, fulfill);
    fulfill.client = client;
    fulfill.fulfill_alias_buffer_cb = args.fulfill_alias_buffer_cb;
    fulfill.buffer = source;
    fulfill.status_code = good ? PJRT_Error_Code_OK : PJRT_Error_Code_ABORTED;
    WALK_OK(Client_FulfillAliasBuffer, fulfill);
    destroy(source);
    if (good) {
      EXPECT_EQ(read(args.alias_buffer), (std::vector<float>{4, 3, 2, 1}));
    } else {
      EXPECT_EQ(ready(args.alias_buffer), PJRT_Error_Code_ABORTED);
    }
    destroy(args.alias_buffer);
  }
}

TEST_F(TransferTest, CopyRawToHostFuture) {
  if (!isTercel()) GTEST_SKIP();
  PJRT_Buffer* buffer = makeBuffer({1, 2, 3, 4});
  WALK_ARGS(Buffer_CopyRawToHostFuture, args);
  args.buffer = buffer;
  args.offset = 4;
  args.transfer_size = 8;
  WALK_OK(Buffer_CopyRawToHostFuture, args);
  destroy(buffer);  // the copy holds what it needs
  std::array<float, 2> host = {};
  auto ready_args = blank<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>(
      PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE);
  ready_args.callback_data = args.callback_data;
  ready_args.dst = host.data();
  args.future_ready_callback(&ready_args);
  EXPECT_EQ(await(args.event), PJRT_Error_Code_OK);
  EXPECT_EQ(host, (std::array<float, 2>{2, 3}));
}

TEST_F(TransferTest, DonateWithControlDependency) {
  if (!isTercel()) GTEST_SKIP();
  for (const bool good : {true, false}) {
    PJRT_Buffer* buffer = makeBuffer({1, 2});
    WALK_ARGS(Buffer_DonateWithControlDependency, args);
    args.buffer = buffer;
    WALK_OK(Buffer_DonateWithControlDependency, args);
    WALK_ARGS(Buffer_IsDeleted, deleted);
    deleted.buffer = buffer;
    WALK_OK(Buffer_IsDeleted, deleted);
    EXPECT_TRUE(deleted.is_deleted);
    destroy(buffer);
    auto done = blank<PJRT_Buffer_DonateWithControlDependency_Callback_Args>(
        PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE);
    done.callback_data = args.callback_data;
    done.error_code = good ? PJRT_Error_Code_OK : PJRT_Error_Code_ABORTED;
    args.dependency_ready_callback(&done);
    EXPECT_EQ(ready(args.out_buffer), done.error_code);
    if (good) {
      EXPECT_EQ(read(args.out_buffer), (std::vector<float>{1, 2}));
    }
    destroy(args.out_buffer);
  }
}

TEST_F(TransferTest, Bitcast) {
  if (!isTercel()) GTEST_SKIP();
  PJRT_Buffer* buffer = makeBuffer({1, 2, 3, 4});
  const std::array<int64_t, 2> dims = {2, 2};
  WALK_ARGS(Buffer_Bitcast, args);
  args.buffer = buffer;
  args.element_type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  WALK_OK(Buffer_Bitcast, args);
  EXPECT_EQ(read(args.out_buffer), (std::vector<float>{1, 2, 3, 4}));
  destroy(args.out_buffer);
  args.element_type = PJRT_Buffer_Type_F64;
  EXPECT_EQ(WALK_CALL(Buffer_Bitcast, args), PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

}  // namespace
}  // namespace walk
