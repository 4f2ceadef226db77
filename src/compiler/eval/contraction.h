// dot_general and convolution. Products are added in a wide type (numeric.h) one after the other
// and rounded once; integers wrap; pred is or of and.
#pragma once
#include "compiler/eval/evaluation.h"
#include "compiler/eval/index_space.h"
#include "compiler/eval/numeric.h"
#include "compiler/eval/output.h"
#include "compiler/eval/product.h"

namespace tercel::eval {

Result<Literals> evalDotGeneral(Evaluation& evaluation, const Op& op, Operands operands);
Result<Literals> evalConvolution(Evaluation& evaluation, const Op& op, Operands operands);

// The type that sums of T are formed in; wrapping integers are sums modulo 2^64, cut at the end.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, Wide<T>>;

// The elements of a literal as sums (one of the five types), its dimensions permuted: dimension i
// of the result is dimension permutation[i] of the literal.
template <class S>
std::vector<S> summands(const Literal& literal, const Dims& permutation);

template <class T, class S>
T rounded(S sum) {
  if constexpr (kIsBool<T>)
    return sum != 0;
  else
    return narrow<T>(sum);
}

}  // namespace tercel::eval
