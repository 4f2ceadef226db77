// What sums of products add up.
#pragma once
#include "compiler/eval/complex_math.h"
#include "compiler/eval/numeric.h"

namespace tercel::eval {

template <class S>
S product(S a, S b) {
  if constexpr (kIsComplex<S>)
    return multiplyComplex(a, b);
  else
    return a * b;
}

}  // namespace tercel::eval
