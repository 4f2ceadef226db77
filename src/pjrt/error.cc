#include "pjrt/error.h"

#include <exception>
#include <new>
#include <system_error>

#include "pjrt/entry.h"

namespace tercel::pjrt {
namespace {

void destroy(PJRT_Error* error);

const Status& statusOf(const PJRT_Error* error) { return static_cast<const Error*>(error)->status; }

const PJRT_Error_FunctionTable kErrorTable = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = PJRT_Error_STRUCT_SIZE,
    .extension_start = nullptr,
    .destroy = destroy,
    .message =
        [](const PJRT_Error* error, const char** message, size_t* message_size) {
          *message = statusOf(error).message().data();
          *message_size = statusOf(error).message().size();
        },
    .get_code =
        [](const PJRT_Error* error) {
          return static_cast<PJRT_Error_Code>(statusOf(error).code());
        },
    .for_each_payload = [](const PJRT_Error*, PJRT_Error_PayloadVisitor, void*) {},
};

PJRT_Error* outOfMemory() {
  static Error error(Status(Code::resource_exhausted, "out of memory"));
  return &error;
}

void destroy(PJRT_Error* error) {
  if (error != outOfMemory()) delete static_cast<Error*>(error);
}

}  // namespace

Error::Error(Status s) : PJRT_Error{&kErrorTable}, status(std::move(s)) {}

PJRT_Error* makeError(Status status) noexcept {
  if (status.ok()) return nullptr;
  auto* error = new (std::nothrow) Error(std::move(status));
  return error ? error : outOfMemory();
}

PJRT_Error* errorFromException(const char* entry) noexcept try {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return outOfMemory();
  } catch (const CheckFailure& failure) {
    return makeError(internalError(entry, ": ", failure.message));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return makeError(resourceExhausted(entry, ": the machine has no more threads"));
    return makeError(internalError(entry, ": ", error.what()));
  } catch (const std::exception& exception) {
    return makeError(internalError(entry, ": ", exception.what()));
  } catch (...) {
    return makeError(internalError(entry, ": unknown exception"));
  }
} catch (...) {
  return outOfMemory();
}

Code codeFrom(PJRT_Error_Code code) {
  const bool known = code >= PJRT_Error_Code_OK && code <= PJRT_Error_Code_UNAUTHENTICATED;
  return known ? static_cast<Code>(code) : Code::unknown;
}

void Error_Destroy(PJRT_Error_Destroy_Args* args) {
  if (args && args->error) args->error->vtable->destroy(args->error);
}

void Error_Message(PJRT_Error_Message_Args* args) {
  if (!args || !covers(*args, &PJRT_Error_Message_Args::message_size) || !args->error) return;
  args->error->vtable->message(args->error, &args->message, &args->message_size);
}

Status Error_GetCode(PJRT_Error_GetCode_Args& args) {
  args.code = args.error->vtable->get_code(args.error);
  return {};
}

Status Error_ForEachPayload(PJRT_Error_ForEachPayload_Args& args) {
  if (!args.visitor) return invalidArgument("PJRT_Error_ForEachPayload: visitor is null");
  args.error->vtable->for_each_payload(args.error, args.visitor, args.user_arg);
  return {};
}

}  // namespace tercel::pjrt
