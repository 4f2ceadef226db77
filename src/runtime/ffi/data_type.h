// The ABI's number of an element type.
#pragma once
#include <optional>

#include "core/dtype.h"
#include "runtime/ffi/abi.h"

namespace tercel::ffi {

inline constexpr XLA_FFI_DataType kInvalidType = 0;
inline constexpr XLA_FFI_DataType kTokenType = 17;

// kInvalidType for a type that the ABI does not have.
XLA_FFI_DataType dataTypeOf(DType dtype);

}  // namespace tercel::ffi
