// Singular values of bidiagonal matrices, by the QR iteration with implicit shifts of Golub and
// Kahan, 1965, or without, of Demmel and Kahan, 1990. Where it begins and ends, and which way it
// goes, is as in LAPACK's bdsqr: the signs of singular vectors follow from it.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "runtime/linalg/bidiagonal_values.h"
#include "runtime/linalg/rotations.h"

namespace tercel::linalg {

// Column `last`, which has a number above its diagonal only, is turned into those before it down to
// `first`; turn(x, y, c, s) does the same to columns x and y of what is multiplied by.
template <class R, class Turn>
void clearLastColumn(VectorX<R>& d, VectorX<R>& e, Index first, Index last, Turn turn) {
  R f = std::exchange(e[last - 1], R(0));
  for (Index j = last; j-- > first && f != 0;) {
    const Rotation<R> rotation(d[j], f);
    d[j] = rotation.size;
    turn(j, last, rotation.c, rotation.s);
    if (j == first) break;
    f = -rotation.s * e[j - 1];
    e[j - 1] *= rotation.c;
  }
}

// The values of (f g; 0 h), which u^T (f g; 0 h) v is diagonal with: of u = (cos -sin; sin cos) and
// v. The first is the larger in size.
template <class R>
struct BidiagonalTwo {
  R first, second;
  R left_c = 1, left_s = 0, right_c = 1, right_s = 0;

  BidiagonalTwo(R f, R g, R h) {
    const bool swaps = std::abs(h) > std::abs(f);
    const R large = swaps ? h : f, small = swaps ? f : h;
    const R size = std::abs(large), least = std::abs(small), beside = std::abs(g);
    R c_l = 1, s_l = 0, c_r = 1, s_r = 0;
    bool is_beside = false;  // g is by far the largest
    first = size;
    second = least;
    if (beside > size && size / beside < std::numeric_limits<R>::epsilon() / 2) {
      is_beside = true;
      first = beside;
      second = least > 1 ? size / (beside / least) : size / beside * least;
      s_l = small / g;
      s_r = 1;
      c_r = large / g;
    } else if (beside != 0) {
      const R difference = size - least, part = difference == size ? R(1) : difference / size;
      const R ratio = g / large, other = 2 - part;
      const R sum = std::sqrt(other * other + ratio * ratio);
      const R root = part == 0 ? std::abs(ratio) : std::sqrt(part * part + ratio * ratio);
      const R mean = (sum + root) / 2;
      second = least / mean;
      first = size * mean;
      R tangent;
      if (ratio * ratio != 0)
        tangent = (ratio / (sum + other) + ratio / (root + part)) * (1 + mean);
      else if (part == 0)
        tangent = std::copysign(R(2), large) * std::copysign(R(1), g);
      else
        tangent = g / std::copysign(difference, large) + ratio / other;
      const R length = std::sqrt(tangent * tangent + 4);
      c_r = 2 / length;
      s_r = tangent / length;
      c_l = (c_r + s_r * ratio) / mean;
      s_l = small / large * s_r / mean;
    }
    left_c = swaps ? s_r : c_l;
    left_s = swaps ? c_r : s_l;
    right_c = swaps ? s_l : c_r;
    right_s = swaps ? c_l : s_r;
    auto sign = [](R x) { return std::copysign(R(1), x); };
    const R of_first = is_beside || beside > size ? sign(right_s) * sign(left_c) * sign(g)
                       : swaps                    ? sign(right_s) * sign(left_s) * sign(h)
                                                  : sign(right_c) * sign(left_c) * sign(f);
    first *= of_first;
    second *= of_first * sign(f) * sign(h);
  }
};

// The least singular value of (f g; 0 h).
template <class R>
R leastOfTwo(R f, R g, R h) {
  const R least = std::min(std::abs(f), std::abs(h)), size = std::max(std::abs(f), std::abs(h));
  const R beside = std::abs(g);
  if (least == 0) return 0;
  const R sum = 1 + least / size, difference = (size - least) / size;
  if (beside < size) {
    const R ratio = beside / size;
    return least * (2 / (std::hypot(sum, ratio) + std::hypot(difference, ratio)));
  }
  const R ratio = size / beside;
  if (ratio == 0) return least * size / beside;
  const R length = std::hypot(R(1), sum * ratio) + std::hypot(R(1), difference * ratio);
  return 2 * (least / length * ratio);
}

// The matrix has the diagonal d and e above it, of the order of 1.
template <class T>
class Bidiagonal {
 public:
  using R = Real<T>;
  Bidiagonal(VectorX<R>& d, VectorX<R>& e, ColumnRotations<T>& u, ColumnRotations<T>& v)
      : d_(d), e_(e), u_(u), v_(v) {}

  // False where it does not converge.
  bool run() {
    findNegligible();
    const Index n = d_.size();
    Index rotations = kMost * n * n;
    for (Index last = n - 1; last > 0;) {
      const Index first = blockBefore(last);
      if (first == last) {
        --last;
      } else if (first + 1 == last) {
        solveTwo(first);
        last -= 2;
      } else {
        const Line line = lineOf(first, last);
        if (hasDivided(line)) continue;
        old_first_ = first;
        old_last_ = last;
        if ((rotations -= line.size) < 0) return false;
        const R tau = shift(line);
        tau == 0 ? stepUnshifted(line) : step(line, tau);
        if (std::abs(line.above(line.size - 1)) <= negligible_) line.above(line.size - 1) = 0;
      }
    }
    return true;
  }

 private:
  static constexpr Index kMost = 6;  // times the square of all values; one is usual
  static constexpr R kRounding = std::numeric_limits<R>::epsilon() / 2;
  static constexpr R kTolerance = kRounding * (sizeof(R) == 4 ? R(10) : R(98.70149282610239));

  // Rows of the matrix from one of their ends. In reverse it is another matrix's transpose, whose
  // columns on the left are this one's on the right.
  struct Line {
    R *d, *e;
    Index step;  // 1 or -1
    Index size;  // the number of the last row
    Index first_column;

    R& on(Index k) const { return d[k * step]; }
    R& above(Index k) const { return e[k * step]; }
    bool isReversed() const { return step < 0; }
  };

  // Elements above the diagonal that are nothing beside the least value that there can be.
  void findNegligible() {
    const Index n = d_.size();
    const R most = R(kMost) * R(n) * (R(n) * std::numeric_limits<R>::min());
    R mu = std::abs(d_[0]), least = mu;
    for (Index i = 1; i < n && least != 0; ++i) {
      mu = std::abs(d_[i]) * (mu / (mu + std::abs(e_[i - 1])));
      least = std::min(least, mu);
    }
    negligible_ = std::max(kTolerance * (least / std::sqrt(R(n))), most);
  }
  // NaN is negligible, so that every run ends.
  Index blockBefore(Index last) {
    largest_ = std::abs(d_[last]);
    for (Index i = last; i > 0; --i) {
      const R beside = std::abs(e_[i - 1]);
      if (!(beside > negligible_)) {
        e_[i - 1] = 0;
        return i;
      }
      largest_ = std::max({largest_, beside, std::abs(d_[i - 1])});
    }
    return 0;
  }
  // From the end where numbers are larger, as long as it is about the same rows.
  Line lineOf(Index first, Index last) {
    if (first > old_last_ || last < old_first_) falls_ = std::abs(d_[first]) >= std::abs(d_[last]);
    if (falls_) return {&d_[first], &e_[first], 1, last - first, first};
    return {&d_[last], &e_[last - 1], -1, last - first, d_.size() - 1 - last};
  }
  bool hasDivided(const Line& line) {
    auto clear = [&](Index k) {
      line.above(k) = 0;
      return true;
    };
    const Index end = line.size - 1;
    if (std::abs(line.above(end)) <= kTolerance * std::abs(line.on(line.size))) return clear(end);
    R mu = std::abs(line.on(0));
    least_ = mu;
    for (Index k = 0; k < line.size; ++k) {
      if (std::abs(line.above(k)) <= kTolerance * mu) return clear(k);
      mu = std::abs(line.on(k + 1)) * (mu / (mu + std::abs(line.above(k))));
      least_ = std::min(least_, mu);
    }
    return false;
  }
  // None where it would cost the least value digits.
  R shift(const Line& line) const {
    const Index last = line.size;
    const R digits = R(d_.size()) * kTolerance * (least_ / largest_);
    if (digits <= std::max(kRounding, kTolerance / 100)) return 0;
    const R tau = leastOfTwo(line.on(last - 1), line.above(last - 1), line.on(last));
    const R start = std::abs(line.on(0));
    return start > 0 && (tau / start) * (tau / start) < kRounding ? R(0) : tau;
  }

  void solveTwo(Index k) {
    const BidiagonalTwo<R> two(d_[k], e_[k], d_[k + 1]);
    d_[k] = two.first;
    d_[k + 1] = two.second;
    e_[k] = 0;
    v_.begin(k);
    v_.add(two.right_c, two.right_s);
    u_.begin(k);
    u_.add(two.left_c, two.left_s);
  }

  struct Sides {
    ColumnRotations<T>&left, &right;
  };
  Sides begin(const Line& line) {
    for (ColumnRotations<T>* side : {&u_, &v_}) {
      const Index others = line.isReversed() ? side->columns() - d_.size() : 0;
      side->begin(others + line.first_column, line.isReversed());
    }
    return line.isReversed() ? Sides{v_, u_} : Sides{u_, v_};
  }
  void step(const Line& line, R tau) {
    const Sides sides = begin(line);
    R &start = line.on(0), g = line.above(0);
    R f = (std::abs(start) - tau) * (std::copysign(R(1), start) + tau / start);
    for (Index k = 0; k < line.size; ++k) {
      R &here = line.on(k), &above = line.above(k), &next = line.on(k + 1);
      const auto right = Rotation<R>::withSignOf(f, g);
      if (k > 0) line.above(k - 1) = right.size;
      f = right.c * here + right.s * above;
      above = right.c * above - right.s * here;
      g = right.s * next;
      next *= right.c;
      sides.right.add(right.c, right.s);
      const auto left = Rotation<R>::withSignOf(f, g);
      here = left.size;
      f = left.c * above + left.s * next;
      next = left.c * next - left.s * above;
      if (k + 1 < line.size) {
        g = left.s * line.above(k + 1);
        line.above(k + 1) *= left.c;
      }
      sides.left.add(left.c, left.s);
    }
    line.above(line.size - 1) = f;
  }
  // Without differences: small values keep their digits.
  void stepUnshifted(const Line& line) {
    const Sides sides = begin(line);
    R c = 1, old_c = 1, old_s = 0;
    for (Index k = 0; k < line.size; ++k) {
      const auto right = Rotation<R>::withSignOf(line.on(k) * c, line.above(k));
      if (k > 0) line.above(k - 1) = old_s * right.size;
      const auto left = Rotation<R>::withSignOf(old_c * right.size, line.on(k + 1) * right.s);
      line.on(k) = left.size;
      sides.right.add(c = right.c, right.s);
      sides.left.add(old_c = left.c, old_s = left.s);
    }
    const R end = line.on(line.size) * c;
    line.on(line.size) = end * old_c;
    line.above(line.size - 1) = end * old_s;
  }

  VectorX<R>& d_;
  VectorX<R>& e_;
  ColumnRotations<T>& u_;
  ColumnRotations<T>& v_;
  R negligible_ = 0;
  R largest_ = 0, least_ = 0;  // of the block
  Index old_first_ = -1, old_last_ = -1;
  bool falls_ = true;
};

// A matrix that has e below its diagonal becomes one that has it above. Returns the rotations of
// its rows, and of the columns of what it is multiplied by from the left: c, s, c, s ...
template <class R>
VectorX<R> turnToUpper(VectorX<R>& d, VectorX<R>& e) {
  VectorX<R> turns(2 * e.size());
  for (Index i = 0; i < e.size(); ++i) {
    const auto turn = Rotation<R>::withSignOf(d[i], e[i]);
    d[i] = turn.size;
    e[i] = turn.s * d[i + 1];
    d[i + 1] *= turn.c;
    turns[2 * i] = turn.c;
    turns[2 * i + 1] = turn.s;
  }
  return turns;
}

// d becomes the singular values, falling. False where it does not converge.
template <class R>
bool findSingularValues(VectorX<R>& d, VectorX<R>& e) {
  if (!BidiagonalValues<R>(d, e).run()) return false;
  std::sort(d.data(), d.data() + d.size(), std::greater<R>());
  return true;
}
// The same, and u and v become u u' and v v' for the matrix u' diag(d) v'^H.
template <class T>
bool diagonalize(VectorX<Real<T>>& d, VectorX<Real<T>>& e, MatrixX<T>& u, MatrixX<T>& v) {
  ColumnRotations<T> of_u(u), of_v(v);
  if (!Bidiagonal<T>(d, e, of_u, of_v).run()) return false;
  of_u.flush();
  of_v.flush();
  MatrixX<T>& signs = d.size() == 1 ? u : v;
  for (Index i = 0; i < d.size(); ++i) {
    if (d[i] < 0) signs.col(i) = -signs.col(i);
    d[i] = std::abs(d[i]);
  }
  for (Index end = d.size() - 1; end > 0; --end) {
    Index least = 0;
    for (Index i = 1; i <= end; ++i)
      if (d[i] <= d[least]) least = i;
    if (least == end) continue;
    std::swap(d[least], d[end]);
    u.col(least).swap(u.col(end));
    v.col(least).swap(v.col(end));
  }
  return true;
}

}  // namespace tercel::linalg
