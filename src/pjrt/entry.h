// The entries of the C API that we implement, and the door through which they are called.
#pragma once
#include "core/status.h"
#include "pjrt/abi/api.h"
#include "pjrt/error.h"

namespace tercel::pjrt {

#define PJRT_VOID(index, name, since) void name(PJRT_##name##_Args* args);
#define PJRT_ENTRY(index, name, since, self, needs) Status name(PJRT_##name##_Args& args);
#include "pjrt/api.def"

// Whether the caller's struct is long enough to have the field.
template <class Args, class Field>
bool covers(const Args& args, Field Args::*field) {
  const auto* end = reinterpret_cast<const char*>(&(args.*field) + 1);
  return args.struct_size >= static_cast<size_t>(end - reinterpret_cast<const char*>(&args));
}

PJRT_Error* badArguments(const char* entry, size_t struct_size, size_t needs,
                         const char* self) noexcept;

template <class Args>
PJRT_Error* enter(const char* name, Status (*entry)(Args&), Args& args) noexcept try {
  return makeError(entry(args));
} catch (...) {
  return errorFromException(name);
}

// Defines door_<name>, the C function of an entry: it checks the caller's struct, then calls.
#define PJRT_DOOR(name, self, needs)                                                     \
  PJRT_Error* door_##name(PJRT_##name##_Args* args) noexcept {                           \
    constexpr size_t kNeeds = offsetof(PJRT_##name##_Args, needs) + sizeof(args->needs); \
    if (!args || args->struct_size < kNeeds || !args->self) [[unlikely]] {               \
      return badArguments("PJRT_" #name, args ? args->struct_size : 0, kNeeds, #self);   \
    }                                                                                    \
    return enter("PJRT_" #name, name, *args);                                            \
  }

}  // namespace tercel::pjrt
