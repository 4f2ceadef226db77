// The FFI extension: handlers, types and user data of custom calls, by way of the C API alone.
#include <atomic>

#include "walk.h"
#include "runtime/ffi/abi.h"

namespace walk {
namespace {

constexpr int64_t kDataType = 314159;

// r = a + the number that the execution brings; fails where a[0] is negative.
XLA_FFI_Error* addData(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start) {
    reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)
        ->metadata->api_version.minor_version = 3;
    return nullptr;
  }
  XLA_FFI_TypeId id = {kDataType};
  XLA_FFI_ExecutionContext_Get_Args get = {sizeof(get), nullptr, frame->ctx, &id, nullptr};
  if (XLA_FFI_Error* error = frame->api->ExecutionContext_Get(&get)) return error;
  auto* a = static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->args.args[0])->data);
  auto* r = static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data);
  XLA_FFI_Error_Create_Args negative = {sizeof(negative), nullptr, "a negative number", 3};
  if (a[0] < 0) return frame->api->Error_Create(&negative);
  for (int i = 0; i < 4; ++i) r[i] = a[i] + *static_cast<float*>(get.data);
  return nullptr;
}

std::string callOf(const std::string& target) {
  return "module @calls {\n"
         "  func @main(%0: f32[4]) -> (f32[4]) {\n"
         "    %1 = custom_call(%0) {call_target_name = " + target + ", api_version = 4} : f32[4]"
         "  loc(\"model.py:7\")\n"
         "    return %1\n"
         "  }\n"
         "}\n";
}

class Ffi : public Walk {
 protected:
  void SetUp() override {
    Walk::SetUp();
    if (!isTercel()) GTEST_SKIP() << "these programs are in Tercel's own text form";
    ffi = reinterpret_cast<const PJRT_FFI_Extension*>(extension(PJRT_Extension_Type_FFI));
    ASSERT_NE(ffi, nullptr);
  }

  Outcome registerHandler(const std::string& target, XLA_FFI_Handler* handler) {
    WALK_ARGS(FFI_Register_Handler, args);
    args.target_name = target.data();
    args.target_name_size = target.size();
    args.handler = reinterpret_cast<void*>(handler);
    args.platform_name = "cpu";
    args.platform_name_size = 3;
    return take(ffi->register_handler(&args));
  }

  const PJRT_FFI_Extension* ffi = nullptr;
};

TEST_F(Ffi, AHandlerRunsWithItsUserData) {
  ASSERT_EQ(registerHandler("walk.add", addData), PJRT_Error_Code_OK);
  PJRT_LoadedExecutable* executable = nullptr;
  ASSERT_EQ(compile(callOf("walk.add"), "mlir", kOneDevice, executable), PJRT_Error_Code_OK);
  PJRT_Buffer *good = makeBuffer({1, 2, 3, 4}), *bad = makeBuffer({-1, 2, 3, 4});
  std::vector<PJRT_Buffer*> outputs;
  EXPECT_EQ(run(executable, {good}, outputs), PJRT_Error_Code_NOT_FOUND) << "without a context";
  destroy(outputs[0]);

  float number = 10;
  WALK_ARGS(ExecuteContext_Create, create);
  WALK_OK(ExecuteContext_Create, create);
  context = create.context;
  WALK_ARGS(FFI_UserData_Add, add);
  add.context = context;
  add.user_data = {kDataType, &number};
  ASSERT_EQ(take(ffi->user_data_add(&add)), PJRT_Error_Code_OK);
  EXPECT_EQ(take(ffi->user_data_add(&add)), PJRT_Error_Code_ALREADY_EXISTS);
  const Outcome outcome = run(executable, {bad}, outputs);
  EXPECT_EQ(outcome, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "custom call walk.add: a negative number");
  destroy(outputs[0]);
  ASSERT_EQ(run(executable, {good}, outputs), PJRT_Error_Code_OK) << "after an error";
  EXPECT_EQ(read(outputs[0]), (std::vector<float>{11, 12, 13, 14}));

  WALK_ARGS(ExecuteContext_Destroy, destroy_context);
  destroy_context.context = context;
  WALK_OK(ExecuteContext_Destroy, destroy_context);
  for (PJRT_Buffer* buffer : {good, bad, outputs[0]}) destroy(buffer);
  destroy(executable);
}

TEST_F(Ffi, AnUnknownTargetIsNamedWhenCompiling) {
  PJRT_LoadedExecutable* executable = nullptr;
  const Outcome outcome = compile(callOf("walk.nobody"), "mlir", kOneDevice, executable);
  EXPECT_EQ(outcome, PJRT_Error_Code_UNIMPLEMENTED);
  for (const char* part : {"walk.nobody", "f32[4]", "model.py:7"})
    EXPECT_NE(outcome.message.find(part), std::string::npos) << outcome.message;
}

TEST_F(Ffi, TypesHaveIds) {
  PJRT_FFI_Type_Info info = {[](void*) {}, nullptr, nullptr};
  WALK_ARGS(FFI_Type_Register, args);
  args.type_name = "walk.Type";
  args.type_name_size = 9;
  args.type_info = &info;
  ASSERT_EQ(take(ffi->type_register(&args)), PJRT_Error_Code_OK);
  EXPECT_NE(args.type_id, 0);
  ++args.type_id;
  EXPECT_EQ(take(ffi->type_register(&args)), PJRT_Error_Code_ALREADY_EXISTS);
}

TEST_F(Ffi, WrongArguments) {
  EXPECT_EQ(registerHandler("walk.null", nullptr), PJRT_Error_Code_INVALID_ARGUMENT);
  WALK_ARGS(FFI_UserData_Add, add);
  EXPECT_EQ(take(ffi->user_data_add(&add)), PJRT_Error_Code_INVALID_ARGUMENT);
  add.struct_size = 8;
  EXPECT_EQ(take(ffi->user_data_add(&add)), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(take(ffi->type_register(nullptr)), PJRT_Error_Code_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace walk
