// The table of the C API: GetPjrtApi is the one symbol that the plugin exports.
#include "pjrt/entry.h"
#include "pjrt/extensions.h"

namespace tercel::pjrt {
namespace {

PJRT_Error* notImplemented(const char* name) noexcept try {
  return makeError(unimplemented(name, " is not implemented by Tercel"));
} catch (...) {
  return errorFromException(name);
}

#define PJRT_ENTRY(index, name, since, self, needs) PJRT_DOOR(name, self, needs)
#define PJRT_STUB(index, name, since) \
  PJRT_Error* door_##name(PJRT_##name##_Args*) noexcept { return notImplemented("PJRT_" #name); }
#include "pjrt/api.def"

PJRT_Api makeApi() {
  PJRT_Api api = {};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.extension_start = extensions();
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
#define PJRT_VOID(index, name, since) api.PJRT_##name = name;
#define PJRT_ENTRY(index, name, since, self, needs) api.PJRT_##name = door_##name;
#define PJRT_STUB(index, name, since) api.PJRT_##name = door_##name;
#include "pjrt/api.def"
  return api;
}

}  // namespace

PJRT_Error* badArguments(const char* entry, size_t struct_size, size_t needs,
                         const char* self) noexcept try {
  if (struct_size == 0) {
    return makeError(invalidArgument(entry, ": args is null, or its struct_size is 0"));
  }
  if (struct_size < needs) {
    return makeError(
        invalidArgument(entry, ": struct_size is ", struct_size, ", should be at least ", needs));
  }
  return makeError(invalidArgument(entry, ": ", self, " is null"));
} catch (...) {
  return errorFromException(entry);
}

}  // namespace tercel::pjrt

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = tercel::pjrt::makeApi();
  return &api;
}
