// The entries of XLA_FFI_Api as handlers call them.
#include "runtime/ffi/api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/engine/thread_pool.h"
#include "runtime/ffi/context.h"
#include "runtime/ffi/error.h"

namespace tercel::ffi {
namespace {

#define FFI_ARGS(name, args) \
  XLA_FFI_##name##_Args args = {}; \
  args.struct_size = sizeof(args)

Code codeOf(XLA_FFI_Error* error) { return takeError(error).code(); }

TEST(Api, EveryEntryIsThereAndChecksItsArguments) {
  EXPECT_EQ(api().struct_size, XLA_FFI_Api_STRUCT_SIZE);
  EXPECT_EQ(api().api_version.minor_version, XLA_FFI_API_MINOR);
#define FFI_ENTRY(name, since, last_field)                                            \
  {                                                                                   \
    ASSERT_NE(api().name, nullptr) << #name;                                          \
    XLA_FFI_##name##_Args args = {};                                                  \
    args.struct_size = 4;                                                             \
    Status status = takeError(api().name(&args));                                     \
    EXPECT_EQ(status.code(), Code::invalid_argument) << #name;                        \
    EXPECT_NE(status.message().find("XLA_FFI_" #name), std::string::npos) << status.message(); \
  }
#define FFI_BARE(name, since, result) ASSERT_NE(api().name, nullptr) << #name;
#include "runtime/ffi/api.def"
}

TEST(Api, Errors) {
  FFI_ARGS(Error_Create, create);
  create.message = "no such matrix";
  create.errc = 5;
  XLA_FFI_Error* error = api().Error_Create(&create);
  FFI_ARGS(Error_GetMessage, details);
  details.error = error;
  details.errc = -1;
  details.struct_size = offsetof(XLA_FFI_Error_GetMessage_Args, errc);  // before 0.4
  api().Error_GetMessage(&details);
  EXPECT_STREQ(details.message, "no such matrix");
  EXPECT_EQ(details.errc, -1);
  details.struct_size = sizeof(details);
  api().Error_GetMessage(&details);
  EXPECT_EQ(details.errc, 5);
  FFI_ARGS(Error_Destroy, destroy);
  destroy.error = error;
  api().Error_Destroy(&destroy);
}

struct Fixture : testing::Test {
  Fixture() {
    run.device_id = 3, run.launch_id = 99;
    call.run = &run, call.pool = &pool;
    context.minor_version = 3;
    context.call = &call;
    context.user_data = &data;
    context.states[0] = &state;
  }
  engine::ThreadPool pool{2};
  engine::RunInfo run;
  engine::CustomCall call;
  int object = 7;
  UserData data = {{1001, &object}};
  State state;
  XLA_FFI_ExecutionContext context;
};
using Context = Fixture;

TEST_F(Context, UserDataByType) {
  XLA_FFI_TypeId id = {1001};
  FFI_ARGS(ExecutionContext_Get, args);
  args.ctx = &context, args.type_id = &id;
  ASSERT_EQ(api().ExecutionContext_Get(&args), nullptr);
  EXPECT_EQ(args.data, &object);
  id.type_id = 5;
  EXPECT_EQ(codeOf(api().ExecutionContext_Get(&args)), Code::not_found);
}

TEST_F(Context, Numbers) {
  FFI_ARGS(RunId_Get, run_id);
  run_id.ctx = &context;
  ASSERT_EQ(api().RunId_Get(&run_id), nullptr);
  EXPECT_EQ(run_id.run_id, 99);
  FFI_ARGS(DeviceOrdinal_Get, device);
  device.ctx = &context;
  ASSERT_EQ(api().DeviceOrdinal_Get(&device), nullptr);
  EXPECT_EQ(device.device_ordinal, 3);
  int64_t threads = 0;
  FFI_ARGS(ThreadPool_NumThreads, count);
  count.ctx = &context, count.num_threads = &threads;
  ASSERT_EQ(api().ThreadPool_NumThreads(&count), nullptr);
  EXPECT_EQ(threads, 2);
  context.call = nullptr;  // as at instantiation
  EXPECT_EQ(codeOf(api().ThreadPool_NumThreads(&count)), Code::unimplemented);
  FFI_ARGS(Stream_Get, stream);
  stream.ctx = &context;
  EXPECT_EQ(codeOf(api().Stream_Get(&stream)), Code::unimplemented);
}

TEST_F(Context, Memory) {
  FFI_ARGS(DeviceMemory_Allocate, allocate);
  allocate.ctx = &context, allocate.size = 1000, allocate.alignment = 256;
  ASSERT_EQ(api().DeviceMemory_Allocate(&allocate), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(allocate.data) % 256, 0u);
  std::memset(allocate.data, 1, 1000);
  FFI_ARGS(DeviceMemory_Free, free);
  free.ctx = &context, free.data = allocate.data, free.size = 1000;
  ASSERT_EQ(api().DeviceMemory_Free(&free), nullptr);
  allocate.alignment = 24;
  allocate.alignment = 100;
  EXPECT_EQ(codeOf(api().DeviceMemory_Allocate(&allocate)), Code::invalid_argument);
  allocate.alignment = 64, allocate.size = ~size_t{0} / 2;
  EXPECT_EQ(codeOf(api().DeviceMemory_Allocate(&allocate)), Code::resource_exhausted);
}

TEST_F(Context, TasksMayWaitForOneAnother) {
  std::atomic<int> arrived{0};
  auto meet = [](void* arrived) {
    auto& count = *static_cast<std::atomic<int>*>(arrived);
    for (++count; count < 2;) std::this_thread::yield();
    ++count;
  };
  FFI_ARGS(ThreadPool_Schedule, args);
  args.ctx = &context, args.task = meet, args.data = &arrived;
  ASSERT_EQ(api().ThreadPool_Schedule(&args), nullptr);
  ASSERT_EQ(api().ThreadPool_Schedule(&args), nullptr);
  while (arrived < 4) std::this_thread::yield();
}

int deleted = 0;
void countDeleted(void*) { ++deleted; }

TEST_F(Context, StatesOfThreeVersions) {
  int64_t type = 0;
  ASSERT_TRUE(registerType("api.State", type, countDeleted).ok());
  XLA_FFI_TypeId id = {type}, unknown = {12345};
  deleted = 0;
  {
    State own;
    context.states[0] = &own;
    FFI_ARGS(State_Get, get);
    get.ctx = &context, get.stage = XLA_FFI_ExecutionStage_INSTANTIATE, get.type_id = &id;
    EXPECT_EQ(codeOf(api().State_Get(&get)), Code::not_found);
    FFI_ARGS(State_Set, set);
    set.ctx = &context, set.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
    set.type_id = &unknown, set.state = &object;
    EXPECT_EQ(codeOf(api().State_Set(&set)), Code::failed_precondition);
    set.type_id = &id;
    ASSERT_EQ(api().State_Set(&set), nullptr);
    EXPECT_EQ(codeOf(api().State_Set(&set)), Code::failed_precondition) << "set twice";
    ASSERT_EQ(api().State_Get(&get), nullptr);
    EXPECT_EQ(get.state, &object);
    get.type_id = &unknown;
    EXPECT_EQ(codeOf(api().State_Get(&get)), Code::invalid_argument);
    get.stage = XLA_FFI_ExecutionStage_PREPARE;
    EXPECT_EQ(codeOf(api().State_Get(&get)), Code::invalid_argument) << "no such stage here";
  }
  EXPECT_EQ(deleted, 1);
  for (int minor : {1, 2}) {
    State own;
    context.states[0] = &own;
    context.minor_version = minor;
    XLA_FFI_State_Set_Args_0_1 set = {sizeof(set), nullptr, &context, &id, &object, countDeleted};
    if (minor == 2) set.struct_size = offsetof(XLA_FFI_State_Set_Args_0_1, deleter);
    if (minor == 1) set.type_id = &unknown;  // its deleter came along
    auto* args = reinterpret_cast<XLA_FFI_State_Set_Args*>(&set);
    ASSERT_EQ(api().State_Set(args), nullptr);
    XLA_FFI_State_Get_Args_0_1 get = {sizeof(get), nullptr, &context, set.type_id, nullptr};
    ASSERT_EQ(api().State_Get(reinterpret_cast<XLA_FFI_State_Get_Args*>(&get)), nullptr);
    EXPECT_EQ(get.state, &object);
  }
  EXPECT_EQ(deleted, 3);
}

}  // namespace
}  // namespace tercel::ffi
