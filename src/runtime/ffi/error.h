// The error objects of the ABI.
#pragma once
#include <memory>

#include "core/status.h"
#include "runtime/ffi/abi.h"

struct XLA_FFI_Error {
  tercel::Status status;
};

namespace tercel::ffi {

// Null where `status` is ok; else the receiver's to destroy.
inline XLA_FFI_Error* makeError(Status status) {
  return status.ok() ? nullptr : new XLA_FFI_Error{std::move(status)};
}

inline Status takeError(XLA_FFI_Error* error) {
  if (!error) return Status();
  std::unique_ptr<XLA_FFI_Error> own(error);
  return std::move(own->status);
}

}  // namespace tercel::ffi
