// Our side of the ABI: the table that handlers call back through.
#pragma once
#include "runtime/ffi/abi.h"

namespace tercel::ffi {

const XLA_FFI_Api& api();

}  // namespace tercel::ffi
