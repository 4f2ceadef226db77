// Integer literals read as indices.
#pragma once
#include <limits>

#include "compiler/eval/numeric.h"
#include "compiler/ir/literal.h"
#include "core/status.h"

namespace tercel::eval {

// Element `at` of an integer literal; what is above the range of int64 reads as its end.
inline int64_t indexAt(const ir::Literal& literal, int64_t at) {
  return visitDType(literal.shape().dtype, [&]<class T>() -> int64_t {
    if constexpr (kIsInt<T> || kIsBool<T>) {
      T x = literal.at<T>(at);
      if constexpr (std::is_same_v<T, uint64_t>)
        if (x > uint64_t(std::numeric_limits<int64_t>::max()))
          return std::numeric_limits<int64_t>::max();
      return static_cast<int64_t>(x);
    } else {
      TERCEL_CHECK(false, toString(literal.shape()), " holds no indices");
      return 0;
    }
  });
}

}  // namespace tercel::eval
