// Eigenvalues of symmetric tridiagonal matrices, by the QL and QR iterations with implicit shifts
// of Wilkinson, 1968. Where they begin and end, and which way they go, is as in LAPACK's steqr: the
// signs of eigenvectors follow from it.
#pragma once
#include <tuple>
#include <utility>

#include "runtime/linalg/rotations.h"
#include "runtime/linalg/tridiagonal_values.h"

namespace tercel::linalg {

// The rotation that makes (a b; b d) diagonal: its first value is the larger in size, of the vector
// (c, s); its second of (-s, c).
template <class R>
struct TwoByTwo {
  R first, second, c, s;

  TwoByTwo(R a, R b, R d) {
    const R sum = a + d, difference = a - d, twice = b + b;
    const R root = std::hypot(difference, twice);
    const R large = std::abs(a) > std::abs(d) ? a : d, small = std::abs(a) > std::abs(d) ? d : a;
    first = (sum < 0 ? sum - root : sum + root) / 2;
    second = sum == 0 ? -first : (large / first) * small - (b / first) * b;
    const bool rises = difference >= 0;
    const R cosine = difference + (rises ? root : -root);
    if (std::abs(cosine) > std::abs(twice)) {
      const R tangent = -twice / cosine;
      s = 1 / std::sqrt(1 + tangent * tangent);
      c = tangent * s;
    } else if (twice == 0) {
      c = 1;
      s = 0;
    } else {
      const R tangent = -cosine / twice;
      c = 1 / std::sqrt(1 + tangent * tangent);
      s = tangent * c;
    }
    if ((sum >= 0) == rises) std::tie(c, s) = std::pair(-s, c);
  }
};

// The matrix has the diagonal d and e beside it; its eigenvalues replace d.
template <class T>
class SymmetricTridiagonal {
 public:
  using R = Real<T>;
  SymmetricTridiagonal(VectorX<R>& d, VectorX<R>& e, ColumnRotations<T>& vectors)
      : d_(d), e_(e), vectors_(vectors) {}

  // False where it does not converge.
  bool run() {
    constexpr Index kMost = 30;  // steps for each eigenvalue; two are usual
    const Index n = d_.size();
    steps_ = kMost * n;
    for (Index first = 0, last; first < n; first = last + 1) {
      for (last = first; last + 1 < n && !divides(last);) ++last;
      if (last + 1 < n) e_[last] = 0;
      if (last > first && !solve(first, last)) return false;
    }
    return true;
  }

 private:
  static constexpr R kRounding = std::numeric_limits<R>::epsilon() / 2;

  // A part of the matrix from one of its ends.
  struct Line {
    R *d, *e;
    Index step;  // 1 or -1
    Index first_column;

    R& on(Index k) const { return d[k * step]; }
    R& beside(Index k) const { return e[k * step]; }
    bool isReversed() const { return step < 0; }
  };

  // Whether the element between rows i and i + 1 is nothing beside them. NaN is nothing, here and
  // below, so that every run ends.
  bool divides(Index i) const {
    const R size = std::abs(e_[i]);
    return !(size > std::sqrt(std::abs(d_[i])) * std::sqrt(std::abs(d_[i + 1])) * kRounding);
  }
  static bool isNegligible(const Line& line, Index k) {
    const R size = std::abs(line.beside(k));
    return !(size * size > kRounding * kRounding * std::abs(line.on(k)) * std::abs(line.on(k + 1)) +
                               std::numeric_limits<R>::min());
  }

  // Rows first to last, towards the end where numbers are larger.
  bool solve(Index first, Index last) {
    const Index size = last - first + 1;
    auto d = d_.segment(first, size), e = e_.segment(first, size - 1);
    const R largest = std::max(d.cwiseAbs().maxCoeff(), e.cwiseAbs().maxCoeff());
    if (largest == 0) return true;
    constexpr int kMost = std::numeric_limits<R>::max_exponent - 2;
    const R scale = std::ldexp(R(1), std::min(-std::ilogb(largest), kMost));
    d *= scale;
    e *= scale;
    const bool falls = std::abs(d_[last]) < std::abs(d_[first]);
    const bool converged =
        solve(falls ? Line{&d_[first], &e_[first], 1, first}
                    : Line{&d_[last], &e_[last - 1], -1, d_.size() - 1 - last}, size);
    d /= scale;
    return converged;
  }
  bool solve(const Line& line, Index size) {
    for (Index last = size - 1; last > 0;) {
      Index first = last;
      while (first > 0 && !isNegligible(line, first - 1)) --first;
      if (first > 0) line.beside(first - 1) = 0;
      if (first == last) {
        --last;
      } else if (first + 1 == last) {
        solveTwo(line, first);
        last -= 2;
      } else {
        if (steps_-- == 0) return false;
        step(line, first, last);
      }
    }
    return true;
  }

  void solveTwo(const Line& line, Index k) {
    R &near = line.on(k), &far = line.on(k + 1), &beside = line.beside(k);
    R &upper = line.isReversed() ? far : near, &lower = line.isReversed() ? near : far;
    const TwoByTwo<R> two(upper, beside, lower);
    upper = two.first;
    lower = two.second;
    beside = 0;
    vectors_.begin(line.first_column + k, line.isReversed());
    vectors_.add(two.c, line.isReversed() ? -two.s : two.s);
  }

  void step(const Line& line, Index first, Index last) {
    const R end = line.on(last), beside = line.beside(last - 1);
    const R half = (line.on(last - 1) - end) / (2 * beside);
    R g = line.on(first) - end + beside / (half + std::copysign(std::hypot(half, R(1)), half));
    R c = 1, s = 1, moved = 0;
    vectors_.begin(line.first_column + first, line.isReversed());
    for (Index k = first; k < last; ++k) {
      const R b = c * line.beside(k);
      const auto turn = Rotation<R>::withSignOf(g, s * line.beside(k));
      c = turn.c;
      s = turn.s;
      if (k > first) line.beside(k - 1) = turn.size;
      g = line.on(k) - moved;
      const R r = (line.on(k + 1) - g) * s + 2 * c * b;
      moved = s * r;
      line.on(k) = g + moved;
      g = c * r - b;
      vectors_.add(c, s);
    }
    line.on(last) -= moved;
    line.beside(last - 1) = g;
  }

  VectorX<R>& d_;
  VectorX<R>& e_;
  ColumnRotations<T>& vectors_;
  Index steps_ = 0;
};

// d becomes the eigenvalues, rising. False where it does not converge.
template <class R>
bool findValues(VectorX<R>& d, VectorX<R>& e) {
  if (!TridiagonalValues<R>(d, e).run()) return false;
  std::sort(d.data(), d.data() + d.size());
  return true;
}
// The same, and vectors becomes its product with the matrix's.
template <class T>
bool diagonalize(VectorX<Real<T>>& d, VectorX<Real<T>>& e, MatrixX<T>& vectors) {
  ColumnRotations<T> rotations(vectors);
  if (!SymmetricTridiagonal<T>(d, e, rotations).run()) return false;
  rotations.flush();
  for (Index i = 0; i < d.size(); ++i) {
    const Index least = std::min_element(d.data() + i, d.data() + d.size()) - d.data();
    if (least == i) continue;
    std::swap(d[i], d[least]);
    vectors.col(i).swap(vectors.col(least));
  }
  return true;
}

}  // namespace tercel::linalg
