#include "runtime/ffi/api.h"

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "runtime/engine/thread_pool.h"
#include "runtime/ffi/context.h"
#include "runtime/ffi/error.h"
#include "runtime/ffi/future.h"
#include "runtime/ffi/registry.h"
#include "runtime/ffi/tasks.h"

namespace tercel::ffi {
namespace {

std::string_view textOf(const XLA_FFI_ByteSpan& span) { return {span.ptr, span.len}; }

// One function for each row of api.def; the arguments of all but these three have been checked.

XLA_FFI_Error* Error_Create(XLA_FFI_Error_Create_Args* args) {
  return new XLA_FFI_Error{Status(static_cast<Code>(args->errc), args->message)};
}

void Error_GetMessage(XLA_FFI_Error_GetMessage_Args* args) {
  args->message = args->error->status.message().c_str();
  if (args->struct_size >= offsetof(XLA_FFI_Error_GetMessage_Args, errc) + sizeof(args->errc)) {
    args->errc = static_cast<XLA_FFI_Error_Code>(args->error->status.code());
  }
}

void Error_Destroy(XLA_FFI_Error_Destroy_Args* args) { delete args->error; }

Status Handler_Register(XLA_FFI_Handler_Register_Args& args) {
  return registerHandler(textOf(args.name), args.bundle);
}

Status Stream_Get(XLA_FFI_Stream_Get_Args&) {
  return unimplemented("a CPU has no stream of its own");
}

Status Type_Register(XLA_FFI_Type_Register_Args& args) {
  return registerType(textOf(args.name), args.type_id->type_id, nullptr);
}

Status ExecutionContext_Get(XLA_FFI_ExecutionContext_Get_Args& args) {
  int64_t id = args.type_id->type_id;
  if (args.ctx->user_data) {
    for (const auto& [type_id, data] : *args.ctx->user_data) {
      if (type_id == id) return args.data = data, Status();
    }
  }
  return Status(Code::not_found, cat("the execution has no user data of type ", id));
}

Result<State*> stateOf(const XLA_FFI_ExecutionContext& ctx, int stage) {
  if (stage < 0 || stage >= static_cast<int>(std::size(ctx.states)) || !ctx.states[stage]) {
    return invalidArgument("stage ", stage, " has no state");
  }
  return ctx.states[stage];
}

Status State_Set(XLA_FFI_State_Set_Args& args) {
  int stage = args.stage;
  XLA_FFI_TypeId* type = args.type_id;
  void* data = args.state;
  std::optional<Deleter> deleter;
  if (args.ctx->minor_version < 3) {
    auto& old = reinterpret_cast<XLA_FFI_State_Set_Args_0_1&>(args);
    stage = XLA_FFI_ExecutionStage_INSTANTIATE, type = old.type_id, data = old.state;
    if (args.ctx->minor_version < 2) deleter = old.deleter;
  }
  if (!deleter) deleter = deleterOf(type->type_id);
  if (!deleter) return failedPrecondition("no state type has the id ", type->type_id);
  TERCEL_ASSIGN(State * state, stateOf(*args.ctx, stage));
  return state->set(type->type_id, data, *deleter);
}

Status State_Get(XLA_FFI_State_Get_Args& args) {
  if (args.ctx->minor_version < 3) {
    auto& old = reinterpret_cast<XLA_FFI_State_Get_Args_0_1&>(args);
    TERCEL_ASSIGN(State * state, stateOf(*args.ctx, XLA_FFI_ExecutionStage_INSTANTIATE));
    TERCEL_ASSIGN(old.state, state->get(old.type_id->type_id));
    return Status();
  }
  TERCEL_ASSIGN(State * state, stateOf(*args.ctx, args.stage));
  TERCEL_ASSIGN(args.state, state->get(args.type_id->type_id));
  return Status();
}

Status DeviceMemory_Allocate(XLA_FFI_DeviceMemory_Allocate_Args& args) {
  size_t alignment = std::max<size_t>(args.alignment, 64);
  if ((alignment & (alignment - 1)) != 0) return invalidArgument("an alignment of ", alignment);
  size_t rounded = (args.size + alignment - 1) / alignment * alignment;
  args.data = rounded < args.size ? nullptr : std::aligned_alloc(alignment, rounded);
  if (args.data || rounded == 0) return Status();
  return resourceExhausted("no memory for ", args.size, " bytes");
}

Status DeviceMemory_Free(XLA_FFI_DeviceMemory_Free_Args& args) {
  std::free(args.data);
  return Status();
}

Status noPool() { return unimplemented("threads are there while a handler executes"); }

Status ThreadPool_Schedule(XLA_FFI_ThreadPool_Schedule_Args& args) {
  if (!args.ctx->call) return noPool();
  engine::ThreadPool* pool = args.ctx->call->pool;
  schedule(args.task, args.data, pool ? pool->threads() : 1);
  return Status();
}

Status ThreadPool_NumThreads(XLA_FFI_ThreadPool_NumThreads_Args& args) {
  if (!args.ctx->call) return noPool();
  engine::ThreadPool* pool = args.ctx->call->pool;
  *args.num_threads = pool ? pool->threads() : 1;
  return Status();
}

Status Future_Create(XLA_FFI_Future_Create_Args& args) {
  args.future = new XLA_FFI_Future;
  return Status();
}

Status Future_SetAvailable(XLA_FFI_Future_SetAvailable_Args& args) {
  args.future->set(Status());
  return Status();
}

Status Future_SetError(XLA_FFI_Future_SetError_Args& args) {
  args.future->set(takeError(args.error));
  return Status();
}

Status RunId_Get(XLA_FFI_RunId_Get_Args& args) {
  args.run_id = args.ctx->call ? args.ctx->call->run->launch_id : 0;
  return Status();
}

Status DeviceOrdinal_Get(XLA_FFI_DeviceOrdinal_Get_Args& args) {
  args.device_ordinal = args.ctx->call ? args.ctx->call->run->device_id : -1;
  return Status();
}

Status InvokeContext_FindExtension(XLA_FFI_InvokeContext_FindExtension_Args& args) {
  args.extension = nullptr;
  return Status();
}

Status CustomOptions_Get(XLA_FFI_CustomOptions_Get_Args& args) {
  static constexpr XLA_FFI_Attrs kNone = {XLA_FFI_Attrs_STRUCT_SIZE, {}, 0, {}, {}, {}};
  args.attrs = &kNone;
  return Status();
}

template <class Args>
XLA_FFI_Error* enter(const char* name, size_t needs, Status (*entry)(Args&), Args* args) noexcept
try {
  if (!args || args->struct_size < needs) {
    return makeError(invalidArgument("XLA_FFI_", name, ": the struct_size of its arguments is ",
                                     args ? args->struct_size : 0, "; ", needs, " are needed"));
  }
  return makeError(entry(*args));
} catch (const std::exception& exception) {
  return makeError(resourceExhausted("XLA_FFI_", name, ": ", exception.what()));
}

#define FFI_ENTRY(name, since, last_field)                                         \
  XLA_FFI_Error* door_##name(XLA_FFI_##name##_Args* args) noexcept {               \
    constexpr size_t kNeeds =                                                      \
        offsetof(XLA_FFI_##name##_Args, last_field) + sizeof(args->last_field);    \
    return enter(#name, kNeeds, name, args);                                       \
  }
#include "runtime/ffi/api.def"

constexpr XLA_FFI_Api kApi = {
    XLA_FFI_Api_STRUCT_SIZE,
    nullptr,
    {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR},
    nullptr,
#define FFI_ENTRY(name, since, last_field) door_##name,
#define FFI_BARE(name, since, result) name,
#include "runtime/ffi/api.def"
};

}  // namespace

const XLA_FFI_Api& api() { return kApi; }

}  // namespace tercel::ffi
