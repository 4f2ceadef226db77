// Errors as the C API sees them.
#pragma once
#include "core/status.h"
#include "pjrt/abi/error.h"

namespace tercel::pjrt {

struct Error : PJRT_Error {
  explicit Error(Status status);
  const Status status;
};

// Null for a good status. Out of memory it returns an error that needs no memory.
PJRT_Error* makeError(Status status) noexcept;

// For use in a catch block: the error that says what was thrown inside `entry`.
PJRT_Error* errorFromException(const char* entry) noexcept;

// A code of the caller's; what is no code becomes Code::unknown.
Code codeFrom(PJRT_Error_Code code);

}  // namespace tercel::pjrt
