// Cholesky's factorisation of few rows, whose columns lie in whole vectors meanwhile.
#pragma once
#include "runtime/linalg/dense_steps.h"
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

template <class T>
class SmallRoot {
  using R = Real<T>;
  static constexpr int64_t kL = kLanes<R>, kHeight = kTriangle * kParts<T>;
  static_assert(kHeight % kL == 0);

 public:
  explicit SmallRoot(const Root<T>& job) : job_(job) {}

  void run() {
    forEachColumn([](const R* from, R* to, int64_t size) { copy(from, to, size); });
    *job_.failed = factor();
    forEachColumn([](R* to, const R* from, int64_t size) { copy(from, to, size); });
  }

 private:
  // f(a column from the diagonal on, its copy, how many real numbers)
  template <class F>
  void forEachColumn(F&& f) {
    for (int64_t j = 0; j < job_.rows; ++j)
      f(partsOf(job_.a + j * (job_.column + 1)), columns_[j] + j * kParts<T>,
        (job_.rows - j) * kParts<T>);
  }
  TERCEL_PART static void copy(const R* from, R* to, int64_t size) {
    for (int64_t i = 0; i < size; ++i) to[i] = from[i];
  }

  int32_t factor() {
    const int64_t size = job_.rows * kParts<T>;
    for (int64_t j = 0; j < job_.rows; ++j) {
      R* column = columns_[j];
      const R pivot = column[j * kParts<T>];
      if (!(pivot > 0)) return static_cast<int32_t>(j + 1);
      const R root = __builtin_sqrt(pivot);
      if constexpr (kParts<T> == 2) column[j * kParts<T> + 1] = 0;
      for (int64_t i = startOf(j); i < size; i += kL)
        kernels::storeVector(column + i, kernels::loadVector(column + i) / root);
      column[j * kParts<T>] = root;
      for (int64_t c = j + 1; c < job_.rows; ++c) subtract(column, c, size);
    }
    return 0;
  }
  static int64_t startOf(int64_t row) { return row * kParts<T> / kL * kL; }
  // columns_[c] -= column conj(column[c])
  TERCEL_PART void subtract(const R* column, int64_t c, int64_t size) {
    const auto* number = reinterpret_cast<const T*>(column + c * kParts<T>);
    const Scalar<T> scalar(Number<T>::load(number).conjugate() * R(-1));
    R* to = columns_[c];
    for (int64_t i = startOf(c); i < size; i += kL)
      kernels::storeVector(
          to + i, kernels::loadVector(to + i) + scalar.times(kernels::loadVector(column + i)));
  }

  const Root<T>& job_;
  alignas(64) R columns_[kTriangle][kHeight] = {};
};

}  // namespace

namespace TERCEL_ISA {

template <class T>
void takeRoot(const Root<T>& job) {
  SmallRoot<T>(job).run();
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
