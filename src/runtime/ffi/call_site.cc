#include "runtime/ffi/call_site.h"

#include <iterator>
#include <optional>
#include <string>

#include "core/small_vector.h"
#include "runtime/ffi/api.h"
#include "runtime/ffi/data_type.h"
#include "runtime/ffi/error.h"
#include "runtime/ffi/future.h"

namespace tercel::ffi {
namespace {

constexpr int64_t kStatusReturning = 2, kStatusReturningUnified = 3;

XLA_FFI_Buffer bufferOf(const program::CallValue& value) {
  XLA_FFI_Buffer buffer = {.struct_size = XLA_FFI_Buffer_STRUCT_SIZE};
  buffer.dtype = value.is_token ? kTokenType : dataTypeOf(value.shape.dtype);
  buffer.rank = value.is_token ? 0 : value.shape.rank();
  buffer.dims = buffer.rank == 0 ? nullptr : value.shape.dims.data();
  return buffer;
}

Status runStage(const Handler& handler, XLA_FFI_ExecutionStage stage, XLA_FFI_CallFrame& frame) {
  XLA_FFI_Handler* run = handler.stages[stage];
  if (!run) return Status();
  frame.stage = stage;
  frame.future = nullptr;
  TERCEL_TRY(takeError(run(&frame)));
  std::unique_ptr<XLA_FFI_Future> future(frame.future);
  return future ? future->await() : Status();
}

}  // namespace

Result<std::unique_ptr<CallSite>> CallSite::create(const engine::CustomCall& call) {
  std::unique_ptr<CallSite> site(new CallSite);
  TERCEL_TRY(site->prepare(call));
  TERCEL_TRY(site->instantiate());
  return site;
}

Status CallSite::prepare(const engine::CustomCall& call) {
  signature_ = *call.signature;
  if (isPythonCallback(call.target)) {
    TERCEL_ASSIGN(attributes_, Attributes::parse(call.configuration));
    TERCEL_ASSIGN(python_, PythonCallback::create(call, *attributes_));
    return Status();
  }
  std::optional<Handler> handler = findHandler(call.target);
  if (!handler) {
    return unimplemented("no handler is registered for it; it is called on ",
                         toString(signature_));
  }
  if (call.target.starts_with("lapack_")) {
    if (call.may_block) call.may_block();  // for the interpreter's lock
    initializeLapack();
  }
  handler_ = *handler;
  if (handler_.untyped) return Status();
  TERCEL_ASSIGN(attributes_, Attributes::parse(call.configuration));
  for (const auto* values : {&signature_.operands, &signature_.results}) {
    for (const program::CallValue& value : *values) {
      buffers_.push_back(bufferOf(value));
      if (buffers_.back().dtype == kInvalidType) {
        return unimplemented("the FFI has no name for the type of ", toString(value.shape));
      }
    }
  }
  arg_types_.assign(signature_.operands.size(), XLA_FFI_ArgType_BUFFER);
  ret_types_.assign(signature_.results.size(), XLA_FFI_RetType_BUFFER);
  return Status();
}

// Only the attributes are known at this stage.
Status CallSite::instantiate() {
  if (!handler_.stages[XLA_FFI_ExecutionStage_INSTANTIATE]) return Status();
  XLA_FFI_ExecutionContext context;
  context.minor_version = handler_.minor_version;
  context.states[XLA_FFI_ExecutionStage_INSTANTIATE] = &state_;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &api();
  frame.ctx = &context;
  frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame.attrs = attributes_->frame();
  return runStage(handler_, XLA_FFI_ExecutionStage_INSTANTIATE, frame);
}

Status CallSite::run(const engine::CustomCall& call, const UserData* user_data) const {
  if (python_) return python_->run(call, user_data);
  return handler_.untyped ? runUntyped(call) : runTyped(call, user_data);
}

Status CallSite::runTyped(const engine::CustomCall& call, const UserData* user_data) const {
  State prepared, initialized;
  XLA_FFI_ExecutionContext context;
  context.minor_version = handler_.minor_version;
  context.states[XLA_FFI_ExecutionStage_INSTANTIATE] = &state_;
  context.states[XLA_FFI_ExecutionStage_PREPARE] = &prepared;
  context.states[XLA_FFI_ExecutionStage_INITIALIZE] = &initialized;
  context.call = &call;
  context.user_data = user_data;

  const size_t operands = call.operands.size();
  SmallVector<XLA_FFI_Buffer, 8> buffers(buffers_);
  SmallVector<void*, 8> pointers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].data = i < operands ? call.operands[i] : call.results[i - operands];
    if (buffers[i].dtype == kTokenType) buffers[i].data = nullptr;
    pointers.push_back(&buffers[i]);
  }
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &api();
  frame.ctx = &context;
  frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<int64_t>(operands),
                arg_types_.data(), pointers.data()};
  frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<int64_t>(call.results.size()),
                ret_types_.data(), pointers.data() + operands};
  frame.attrs = attributes_->frame();
  for (int stage = XLA_FFI_ExecutionStage_PREPARE; stage < kFfiStages; ++stage) {
    TERCEL_TRY(runStage(handler_, static_cast<XLA_FFI_ExecutionStage>(stage), frame));
  }
  return Status();
}

// A single result is passed as it is, several as an array of pointers.
Status CallSite::runUntyped(const engine::CustomCall& call) const {
  void* const* results = call.results.data();
  void* out = call.results.size() == 1 ? results[0] : const_cast<void**>(results);
  auto in = const_cast<const void**>(call.operands.data());
  std::optional<std::string> failure;  // what XlaCustomCallStatus is
  switch (signature_.api_version) {
    case kStatusReturning: {
      auto run = reinterpret_cast<void (*)(void*, const void**, void*)>(handler_.untyped);
      run(out, in, &failure);
      break;
    }
    case kStatusReturningUnified: {
      using Unified = void (*)(void*, const void**, const char*, size_t, void*);
      reinterpret_cast<Unified>(handler_.untyped)(out, in, call.configuration.data(),
                                                  call.configuration.size(), &failure);
      break;
    }
    default: reinterpret_cast<void (*)(void*, const void**)>(handler_.untyped)(out, in);
  }
  return failure ? internalError(*failure) : Status();
}

}  // namespace tercel::ffi
