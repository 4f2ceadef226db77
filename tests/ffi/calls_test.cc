// Programs whose custom calls run through the registry, with the engine around them.
#include "runtime/ffi/calls.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "engine/program_maker.h"
#include "ffi/handlers.h"

namespace tercel::ffi {
namespace {

using program::StepKind;
using tercel::test::ProgramMaker;
using tercel::test::runOn;
using test::errorOf;
using test::isQuery;

const Shape kVector{DType::f32, {3}};

// r = target(a, token)
ProgramMaker calling(const std::string& target, const std::string& text = "",
                     int64_t api_version = 4) {
  ProgramMaker m;
  uint32_t a = m.argument(kVector), token = m.arena(0), r = m.result(kVector);
  program::Step& step = m.step(0, StepKind::custom_call, {a, token, r});
  step.values = program::encode({api_version, {{kVector}, {{}, true}}, {{kVector}}});
  step.name = target;
  step.text = text;
  return m;
}

struct Caller {
  explicit Caller(const ProgramMaker& maker) : loaded(*maker.load()) {}
  Status operator()(UserData data = {}) {
    Calls calls(sites, std::make_shared<const UserData>(std::move(data)));
    return runOn(*loaded, {in}, {out}, nullptr, &calls);
  }
  std::shared_ptr<engine::LoadedProgram> loaded;
  std::shared_ptr<CallSites> sites = std::make_shared<CallSites>();
  float in[3] = {1, 2, 3}, out[3] = {};
};

void add(std::string_view target, XLA_FFI_Handler* handler) {
  Status status = registerHandler(target, {nullptr, nullptr, nullptr, handler});
  EXPECT_TRUE(status.ok()) << status.message();
}

// r = a * attribute `times`, 0.3
XLA_FFI_Error* scale(XLA_FFI_CallFrame* frame) {
  if (isQuery(frame)) return nullptr;
  EXPECT_EQ(frame->stage, XLA_FFI_ExecutionStage_EXECUTE);
  EXPECT_EQ(frame->args.size, 2);
  EXPECT_EQ(frame->rets.size, 1);
  auto* a = static_cast<XLA_FFI_Buffer*>(frame->args.args[0]);
  auto* token = static_cast<XLA_FFI_Buffer*>(frame->args.args[1]);
  auto* r = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  EXPECT_EQ(frame->args.types[1], XLA_FFI_ArgType_BUFFER);
  EXPECT_EQ(a->dtype, 11);
  EXPECT_EQ(a->rank, 1);
  EXPECT_EQ(a->dims[0], 3);
  EXPECT_EQ(token->dtype, 17);
  EXPECT_EQ(token->dims, nullptr);
  if (frame->attrs.size != 1) return errorOf(frame, 3, "one attribute, please");
  float times = *static_cast<float*>(static_cast<XLA_FFI_Scalar*>(frame->attrs.attrs[0])->value);
  if (times == 0) return errorOf(frame, 8, "nothing left");
  for (int i = 0; i < 3; ++i)
    static_cast<float*>(r->data)[i] = times * static_cast<float*>(a->data)[i];
  return nullptr;
}

TEST(Calls, AHandlerSeesBuffersAndAttributes) {
  add("calls.scale", scale);
  Caller run(calling("calls.scale", "{times = 2.5 : f32}"));
  Status status = run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(run.out[2], 7.5f);
}

TEST(Calls, ErrorsKeepTheirCodeAndTheNextCallWorks) {
  add("calls.scale", scale);
  Caller zero(calling("calls.scale", "{times = 0 : f32}")), none(calling("calls.scale"));
  EXPECT_EQ(zero().code(), Code::resource_exhausted);
  Status status = none();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), "custom call calls.scale: one attribute, please");
  Caller good(calling("calls.scale", "{times = 1 : f32}"));
  EXPECT_TRUE(good().ok());
}

TEST(Calls, AHandlerMayComeAfterTheProgram) {
  Caller run(calling("calls.late", "{times = 3 : f32}"));
  EXPECT_FALSE(isKnownTarget("calls.late"));
  Status status = run();
  EXPECT_EQ(status.code(), Code::unimplemented);
  EXPECT_NE(status.message().find("calls.late"), std::string::npos);
  EXPECT_NE(status.message().find("(f32[3], token) -> (f32[3])"), std::string::npos);
  add("calls.late", scale);
  EXPECT_TRUE(isKnownTarget("calls.late"));
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(run.out[0], 3.f);
}

// Each stage notes itself in the state of the one before.
std::string order;
int64_t note_type = 0;
int notes_alive = 0;
struct Note {
  Note() { ++notes_alive; }
  ~Note() { --notes_alive; }
  std::string text;
};

Note* noteOf(XLA_FFI_CallFrame* frame, XLA_FFI_ExecutionStage stage) {
  XLA_FFI_TypeId id = {note_type};
  XLA_FFI_State_Get_Args args = {sizeof(args), nullptr, frame->ctx, stage, &id, nullptr};
  EXPECT_EQ(frame->api->State_Get(&args), nullptr);
  return static_cast<Note*>(args.state);
}

template <XLA_FFI_ExecutionStage stage>
XLA_FFI_Error* noting(XLA_FFI_CallFrame* frame) {
  if (isQuery(frame)) return nullptr;
  EXPECT_EQ(frame->stage, stage);
  std::string before;
  if constexpr (stage > 0)
    before = noteOf(frame, static_cast<XLA_FFI_ExecutionStage>(stage - 1))->text;
  EXPECT_EQ(frame->args.size, stage == XLA_FFI_ExecutionStage_INSTANTIATE ? 0 : 2);
  EXPECT_EQ(frame->attrs.size, 1);
  if constexpr (stage == XLA_FFI_ExecutionStage_EXECUTE) {
    order = before + "3";
    return nullptr;
  }
  auto* note = new Note;
  note->text = before + std::to_string(stage);
  XLA_FFI_TypeId id = {note_type};
  XLA_FFI_State_Set_Args args = {sizeof(args), nullptr, frame->ctx, stage, &id, note};
  return frame->api->State_Set(&args);
}

TEST(Calls, StagesAndTheirStates) {
  ASSERT_TRUE(registerType("calls.Note", note_type, [](void* note) {
                delete static_cast<Note*>(note);
              }).ok());
  ASSERT_TRUE(registerHandler("calls.stages", {noting<XLA_FFI_ExecutionStage_INSTANTIATE>,
                                               noting<XLA_FFI_ExecutionStage_PREPARE>,
                                               noting<XLA_FFI_ExecutionStage_INITIALIZE>,
                                               noting<XLA_FFI_ExecutionStage_EXECUTE>})
                  .ok());
  {
    Caller run(calling("calls.stages", "{x = 1 : s32}"));
    for (int i = 0; i < 2; ++i) {
      order.clear();
      Status status = run();
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(order, "0123");
      EXPECT_EQ(notes_alive, 1) << "what instantiation made lives on, the rest does not";
    }
  }
  EXPECT_EQ(notes_alive, 0);
}

// Done by another thread, later.
template <bool fails>
XLA_FFI_Error* later(XLA_FFI_CallFrame* frame) {
  if (isQuery(frame)) return nullptr;
  XLA_FFI_Future_Create_Args create = {sizeof(create), nullptr, nullptr};
  EXPECT_EQ(frame->api->Future_Create(&create), nullptr);
  frame->future = create.future;
  auto* r = static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data);
  std::thread([future = create.future, api = frame->api, r] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    r[0] = 42;
    if (fails) {
      XLA_FFI_Error_Create_Args error = {sizeof(error), nullptr, "too late", 4};
      XLA_FFI_Future_SetError_Args args = {sizeof(args), nullptr, future,
                                           api->Error_Create(&error)};
      EXPECT_EQ(api->Future_SetError(&args), nullptr);
    } else {
      XLA_FFI_Future_SetAvailable_Args args = {sizeof(args), nullptr, future};
      EXPECT_EQ(api->Future_SetAvailable(&args), nullptr);
    }
  }).detach();
  return nullptr;
}

TEST(Calls, AsynchronousHandlersAreAwaited) {
  add("calls.later", later<false>);
  add("calls.too_late", later<true>);
  Caller run(calling("calls.later")), failing(calling("calls.too_late"));
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(run.out[0], 42.f);
  Status status = failing();
  EXPECT_EQ(status.code(), Code::deadline_exceeded);
  EXPECT_NE(status.message().find("too late"), std::string::npos);
}

XLA_FFI_Error* usesData(XLA_FFI_CallFrame* frame) {
  if (isQuery(frame)) return nullptr;
  XLA_FFI_TypeId id = {77};
  XLA_FFI_ExecutionContext_Get_Args args = {sizeof(args), nullptr, frame->ctx, &id, nullptr};
  if (XLA_FFI_Error* error = frame->api->ExecutionContext_Get(&args)) return error;
  ++*static_cast<int*>(args.data);
  return nullptr;
}

TEST(Calls, UserDataComesWithTheExecution) {
  add("calls.data", usesData);
  Caller run(calling("calls.data"));
  int number = 1;
  ASSERT_TRUE(run({{77, &number}}).ok());
  EXPECT_EQ(number, 2);
  EXPECT_EQ(run().code(), Code::not_found);
}

void untyped(void* out, const void** in) {
  static_cast<float*>(out)[0] = static_cast<const float*>(in[0])[1];
}
void untypedUnified(void* out, const void**, const char* opaque, size_t size, void* status) {
  static_cast<float*>(out)[0] = static_cast<float>(size);
  if (opaque[0] == '!') *static_cast<std::optional<std::string>*>(status) = "refused";
}

TEST(Calls, UntypedFunctions) {
  ASSERT_TRUE(registerUntyped("calls.old", reinterpret_cast<void*>(untyped)).ok());
  ASSERT_TRUE(registerUntyped("calls.unified", reinterpret_cast<void*>(untypedUnified)).ok());
  Caller old(calling("calls.old", "any text", 1)), unified(calling("calls.unified", "four", 3));
  ASSERT_TRUE(old().ok());
  EXPECT_EQ(old.out[0], 2.f);
  ASSERT_TRUE(unified().ok());
  EXPECT_EQ(unified.out[0], 4.f);
  Caller refused(calling("calls.unified", "!", 3));
  EXPECT_EQ(refused().message(), "custom call calls.unified: refused");
}

TEST(Calls, PythonNeedsItsPackageAndItsTable) {
  EXPECT_FALSE(isKnownTarget("xla_ffi_python_cpu_callback"));
  Caller run(calling("xla_ffi_python_cpu_callback", "{index = 0 : u64}"));
  EXPECT_EQ(run().code(), Code::failed_precondition);
  Caller nameless(calling("xla_ffi_python_cpu_callback"));
  EXPECT_EQ(nameless().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace tercel::ffi
