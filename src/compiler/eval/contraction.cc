#include "compiler/eval/contraction.h"

#include "compiler/eval/elementwise.h"

namespace tercel::eval {
namespace {

// The element type that holds what a sum of products starts from.
template <class S>
struct Held {
  using Type = S;
};
template <>
struct Held<long double> {
  using Type = double;
};
template <>
struct Held<std::complex<long double>> {
  using Type = std::complex<double>;
};

}  // namespace

template <class S>
std::vector<S> summands(const Literal& literal, const Dims& permutation) {
  using T = typename Held<S>::Type;
  const Shape& shape = literal.shape();
  Dims strides = rowMajorStrides(shape.dims), dims, permuted;
  for (int64_t d : permutation) {
    dims.push_back(shape.dims[static_cast<size_t>(d)]);
    permuted.push_back(strides[static_cast<size_t>(d)]);
  }
  Input in(convertLiteral(literal, DTypeOf<T>::value));
  const T* data = in.data<T>();
  std::vector<S> sums;
  sums.reserve(static_cast<size_t>(shape.elements()));
  forEachIndex(dims, [&](const Dims& at) { sums.push_back(S(data[position(at, permuted)])); });
  return sums;
}

template std::vector<uint64_t> summands(const Literal&, const Dims&);
template std::vector<double> summands(const Literal&, const Dims&);
template std::vector<long double> summands(const Literal&, const Dims&);
template std::vector<std::complex<double>> summands(const Literal&, const Dims&);
template std::vector<std::complex<long double>> summands(const Literal&, const Dims&);

}  // namespace tercel::eval
