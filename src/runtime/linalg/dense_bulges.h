// Bulges of three rows, each of two shifts: Braman, Byers and Mathias, 2002. A single shift's has
// two.
#pragma once
#include "runtime/linalg/dense_steps.h"
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

// H = I - tau v v^H with v = (1, v1, v2), for which H^H x = (beta, 0, 0).
template <class T>
struct SmallReflector {
  Number<T> v1, v2, tau;
  Real<T> beta = 0;

  // Numbers too small to have all their bits beside 1 are none.
  TERCEL_PART explicit SmallReflector(const Number<T>* x) {
    using R = Real<T>;
    constexpr R kLeast = sizeof(R) == 4 ? R(0x1p-103) : R(0x1p-970);
    R size = x[0].size();
    size = x[1].size() > size ? x[1].size() : size;
    size = x[2].size() > size ? x[2].size() : size;
    if (!(size >= kLeast)) return;
    const R by = 1 / size;
    const Number<T> x0 = x[0] * by, x1 = x[1] * by, x2 = x[2] * by;
    const R below = x1.square() + x2.square();
    const R norm = __builtin_sqrt(x0.square() + below);
    beta = x0.re > 0 ? -norm : norm;
    const Number<T> end = {beta};
    const Number<T> scale = (x0 - end).inverse();
    v1 = x1 * scale;
    v2 = x2 * scale;
    tau = (end - x0) * (1 / beta);
    beta *= size;
  }
};

template <class T>
class Chase {
  using R = Real<T>;
  using N = Number<T>;

 public:
  explicit Chase(const Bulges<T>& job) : job_(job) {}

  void run() const {
    for (int64_t step = 0; step < job_.steps; ++step)
      for (int64_t i = 0; i < job_.count; ++i) {
        const int64_t position = job_.position + step - 3 * i;
        if (position >= job_.begin - 1 && position + 2 < job_.end) move(position, job_.shifts[i]);
      }
  }

 private:
  T* at(int64_t i, int64_t j) const { return job_.h + i + j * job_.column; }
  N number(int64_t i, int64_t j) const { return N::load(at(i, j)); }

  // In proportion to the first column of (h - first)(h - second).
  void start(const Shifts<R>& shifts, N* x) const {
    const int64_t b = job_.begin;
    const N above = number(b, b), last = number(b + 1, b + 1), below = number(b + 1, b);
    N first = above, second = above, sum = above + last;
    subtract(first, shifts.first);
    if (job_.is_single) {
      x[0] = first;
      x[1] = below;
      return;
    }
    subtract(second, shifts.second);
    subtract(sum, shifts.first);
    subtract(sum, shifts.second);
    const R size = second.size() + __builtin_fabs(shifts.second[1]) + below.size();
    if (!(size > 0)) return;
    const N part = below * (1 / size);
    x[0] = first * (second * (1 / size)) + part * number(b, b + 1);
    if constexpr (kParts<T> == 1) x[0].re -= shifts.first[1] * (shifts.second[1] / size);
    x[1] = part * sum;
    if (b + 2 < job_.end) x[2] = part * number(b + 2, b + 1);
  }
  static void subtract(N& x, const R* shift) {
    x.re -= shift[0];
    if constexpr (kParts<T> == 2) x.im -= shift[1];
  }

  void move(int64_t position, const Shifts<R>& shifts) const {
    const int64_t row = position + 1;
    const int64_t rows = job_.is_single || job_.end - row < 3 ? 2 : 3;
    N x[3] = {};
    if (position < job_.begin) {
      start(shifts, x);
    } else {
      for (int64_t i = 0; i < rows; ++i) x[i] = number(row + i, position);
    }
    const SmallReflector<T> reflector(x);
    if (position >= job_.begin) {
      const N first = {reflector.beta}, none = {};
      first.store(at(row, position));
      for (int64_t i = 1; i < rows; ++i) none.store(at(row + i, position));
    }
    if (reflector.beta == 0) return;
    const int64_t left = position < job_.begin ? row : position + 1;
    const int64_t bottom = row + 4 < job_.end ? row + 4 : job_.end;
    if (rows == 3) {
      turnRows<3>(reflector, row, left);
      turnColumns<3>(reflector, at(job_.top, row), job_.column, bottom - job_.top);
      if (job_.u)
        turnColumns<3>(reflector, job_.u + row * job_.u_column, job_.u_column, job_.u_rows);
    } else {
      turnRows<2>(reflector, row, left);
      turnColumns<2>(reflector, at(job_.top, row), job_.column, bottom - job_.top);
      if (job_.u)
        turnColumns<2>(reflector, job_.u + row * job_.u_column, job_.u_column, job_.u_rows);
    }
  }

  template <int kRows>
  void turnRows(const SmallReflector<T>& by, int64_t row, int64_t left) const {
    const N tau = by.tau.conjugate(), v1 = by.v1, v2 = by.v2;
    const N dot0 = tau, dot1 = tau * v1.conjugate(), dot2 = tau * v2.conjugate();
    T* x = at(row, left);
    for (int64_t j = left; j < job_.right; ++j, x += job_.column) {
      const N x0 = N::load(x), x1 = N::load(x + 1);
      N share = x0 * dot0 + x1 * dot1;
      if constexpr (kRows == 3) {
        const N x2 = N::load(x + 2);
        share = share + x2 * dot2;
        (x2 - share * v2).store(x + 2);
      }
      (x0 - share).store(x);
      (x1 - share * v1).store(x + 1);
    }
  }
  template <int kRows>
  static void turnColumns(const SmallReflector<T>& by, T* first, int64_t column, int64_t rows) {
    const Scalar<T> dot0(by.tau), dot1(by.tau * by.v1), dot2(by.tau * by.v2), v1(by.v1.conjugate()),
        v2(by.v2.conjugate());
    R *a = partsOf(first), *b = partsOf(first + column), *c = partsOf(first + 2 * column);
    forEachVector<R>(
        rows * kParts<T>, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
          const Vector<R> x0 = lanes.load(a + i), x1 = lanes.load(b + i);
          Vector<R> share = dot0.times(x0) + dot1.times(x1);
          if constexpr (kRows == 3) {
            const Vector<R> x2 = lanes.load(c + i);
            share += dot2.times(x2);
            lanes.store(c + i, x2 - v2.times(share));
          }
          lanes.store(a + i, x0 - share);
          lanes.store(b + i, x1 - v1.times(share));
        });
  }

  const Bulges<T>& job_;
};

}  // namespace

namespace TERCEL_ISA {

template <class T>
void chaseBulges(const Bulges<T>& job) {
  Chase<T>(job).run();
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
