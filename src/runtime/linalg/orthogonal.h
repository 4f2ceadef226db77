#pragma once
#include "runtime/linalg/eigen.h"

namespace tercel::linalg {

// a = Q R: R in the upper triangle, Q as reflectors in what is below and in `taus`, as many as a
// has rows or columns.
template <class T>
void factorOrthogonal(MatrixRef<T> a, Eigen::Ref<VectorX<T>> taus);

}  // namespace tercel::linalg
