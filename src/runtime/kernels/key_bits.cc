#include "runtime/kernels/key_bits.h"

#include "core/sort_keys.h"

namespace tercel::kernels {

KeyForm formOf(const SortKey& key) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  KeyForm form{.bytes = static_cast<int>(byteSize(key.dtype))};
  if (isFloat(key.dtype)) form.turned = ~kSign;
  if (isFloat(key.dtype) || isSigned(key.dtype)) form.flipped = kSign;
  if (isFloat(key.dtype) && !key.total) {
    const int exponent = key.dtype == DType::f16 ? 5 : key.dtype == DType::f64 ? 11 : 8;
    form.zero = 0;
    form.infinity = ((uint64_t{1} << exponent) - 1) << (63 - exponent);
  }
  if (key.descending) form.reversed = ~uint64_t{};
  return form;
}

}  // namespace tercel::kernels
