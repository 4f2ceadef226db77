// Handlers written against the C ABI by hand, as another compiler's would come to us.
#pragma once
#include <string>

#include "runtime/ffi/abi.h"

namespace tercel::ffi::test {

// What every handler does first: answers the question for its version, as 0.`minor`.
bool isQuery(XLA_FFI_CallFrame* frame, int minor = 3);
XLA_FFI_Error* errorOf(XLA_FFI_CallFrame* frame, XLA_FFI_Error_Code code, const char* message);

}  // namespace tercel::ffi::test
