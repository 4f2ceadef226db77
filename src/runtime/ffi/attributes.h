// A custom call's attributes as its handler sees them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "runtime/ffi/abi.h"

namespace tercel::ffi {

class Attributes {
 public:
  // `text` is a dictionary as the compiler prints it: {uplo = 76 : u8, deep = {x = "y"}}; empty: no
  // attributes. UNIMPLEMENTED for a kind that handlers cannot be given.
  static Result<std::unique_ptr<Attributes>> parse(std::string_view text);

  const XLA_FFI_Attrs& frame() const { return frame_; }
  // The value of an integer scalar of 64 bits, or null.
  const uint64_t* number(std::string_view name) const;

 private:
  friend class AttributeParser;

  struct Value {
    XLA_FFI_AttrType type = XLA_FFI_AttrType_SCALAR;
    std::string bytes;  // of a string, a scalar or an array
    union {
      XLA_FFI_Scalar scalar;
      XLA_FFI_Array array;
      XLA_FFI_ByteSpan string;
    } view = {};
    std::unique_ptr<Attributes> dictionary;
  };

  // After all values are there: what the frame points to stays where it is.
  void finish();

  std::map<std::string, Value, std::less<>> values_;
  std::vector<XLA_FFI_AttrType> types_;
  std::vector<XLA_FFI_ByteSpan> names_;
  std::vector<const XLA_FFI_ByteSpan*> name_pointers_;
  std::vector<void*> pointers_;
  XLA_FFI_Attrs frame_ = {};
};

}  // namespace tercel::ffi
