// Bounds what a small artifact can make the reader allocate: attributes are shared in the file, and
// each use of a text, a list or a tuple is written out.
#pragma once
#include <cstddef>

#include "core/status.h"

namespace tercel::stablehlo {

class Budget {
 public:
  explicit Budget(size_t artifact_bytes) : left_((size_t{1} << 24) + 32 * artifact_bytes) {}

  Status spend(size_t bytes) {
    if (bytes > left_)
      return resourceExhausted("StableHLO artifact: too much shared text or lists");
    left_ -= bytes;
    return {};
  }

 private:
  size_t left_;
};

}  // namespace tercel::stablehlo
