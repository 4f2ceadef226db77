// What divide and conquer shares between symmetric tridiagonal and bidiagonal matrices: two halves
// that are diagonal, with values d and orthonormal columns, are joined by a matrix of rank one.
#pragma once
#include <cmath>
#include <compare>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/linalg/kept_vector.h"
#include "runtime/linalg/products.h"
#include "runtime/linalg/rotations.h"
#include "runtime/linalg/secular.h"

namespace tercel::linalg {

constexpr Index kUndivided = 25;  // rows that are not divided, as in LAPACK

template <class R>
class Halves {
 public:
  // The first `half` values are one half's, the others the other's.
  Halves(Eigen::Ref<VectorX<R>> d, Index half) : d_(d), z_(d.size()), order_(rising(d)) {
    rows_.assign(d.size(), first_half);
    std::fill(rows_.begin() + half, rows_.end(), last_half);
  }

  VectorX<R>& z() { return z_; }
  const Eigen::Ref<VectorX<R>>& d() const { return d_; }
  Index kept() const { return Index(kept_.size()); }

  // Value i is kept, come what may, and first; its columns have numbers in all rows.
  void keepFirst(Index i) {
    kept_.push_back(i);
    order_.erase(std::ranges::find(order_, i));
    rows_[i] = both;
  }
  // Where an element of z is negligible, or would be if the columns of two values were turned, the
  // value and its columns are final. turn(x, y, c, s) turns columns x and y.
  template <class Turn>
  void deflate(R rho, R negligible, Turn turn) {
    Index last = -1;  // kept if nothing turns it away
    for (Index j : order_) {
      if (rho * std::abs(z_[j]) <= negligible) {
        deflated_.push_back(j);
      } else if (last >= 0 && turnsAway(last, j, negligible, turn)) {
        deflated_.push_back(std::exchange(last, j));
      } else {
        if (last >= 0) kept_.push_back(last);
        last = j;
      }
    }
    if (last >= 0) kept_.push_back(last);
  }

  SecularEquation<R> equation(R rho) const {
    return SecularEquation<R>(of(kept_, d_), of(kept_, z_), rho, false);
  }
  // Of which the first value is 0 and the second no less than `least`.
  SecularEquation<R> equationOfSquares(R least) const {
    VectorX<R> poles = of(kept_, d_);
    if (kept() > 1) poles[1] = std::max(poles[1], least);
    return SecularEquation<R>(poles, of(kept_, z_), 1, true);
  }

  // d becomes the equation's roots and the values that are final, rising.
  void settle(const VectorX<R>& roots) {
    VectorX<R> values(d_.size());
    values << roots, of(deflated_, d_);
    rising_ = rising(values);
    d_ = of(rising_, values);
  }
  // And q what are the columns of these: the kept ones times `vectors`, and those that are final.
  // The last half's have numbers in the rows from `split` on, the first half's in those before.
  void combine(const MatrixX<R>& vectors, Index split, MatrixRef<R> q) const {
    const Index n = d_.size();
    MatrixX<R> all(q.rows(), n);
    multiply(vectors, split, q, all.leftCols(kept()));
    for (Index i = kept(); i < n; ++i) all.col(i) = q.col(deflated_[i - kept()]);
    for (Index i = 0; i < n; ++i) q.col(i) = all.col(rising_[i]);
  }

 private:
  // Of a column: those where it has numbers.
  enum Rows : int8_t { first_half, both, last_half };

  static KeptVector<Index> rising(const Eigen::Ref<const VectorX<R>>& values) {
    KeptVector<Index> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](Index a, Index b) {
      const auto order_of_values = std::strong_order(values[a], values[b]);
      return order_of_values != 0 ? order_of_values < 0 : a < b;
    });
    return order;
  }
  static VectorX<R> of(const KeptVector<Index>& places, const Eigen::Ref<const VectorX<R>>& all) {
    VectorX<R> numbers(places.size());
    for (Index i = 0; i < numbers.size(); ++i) numbers[i] = all[places[i]];
    return numbers;
  }

  template <class Turn>
  bool turnsAway(Index i, Index j, R negligible, Turn turn) {
    const Rotation<R> by(z_[j], z_[i]);
    const R c = by.c, s = by.s, lower = d_[i], upper = d_[j];
    if (std::abs((upper - lower) * c * s) > negligible) return false;
    z_[j] = by.size;
    z_[i] = 0;
    d_[i] = lower * (c * c) + upper * (s * s);
    d_[j] = lower * (s * s) + upper * (c * c);
    turn(j, i, c, s);
    if (rows_[i] != rows_[j]) rows_[i] = rows_[j] = both;
    return true;
  }

  // Without the rows that are 0: of both products one half each.
  void multiply(const MatrixX<R>& vectors, Index split, const MatrixRef<R>& q,
                MatrixRef<R> to) const {
    KeptVector<Index> order;  // places in kept_, those with numbers in the first half first
    for (const Rows rows : {first_half, both, last_half})
      for (Index i = 0; i < kept(); ++i)
        if (rows_[kept_[i]] == rows) order.push_back(i);
    const auto counts = [&](Rows but) {
      return Index(std::ranges::count_if(kept_, [&](Index i) { return rows_[i] != but; }));
    };
    const Index above = counts(last_half), below = counts(first_half), rest = q.rows() - split;
    MatrixX<R> first(split, above), last(rest, below), turned(kept(), kept());
    for (Index i = 0; i < kept(); ++i) {
      const auto column = q.col(kept_[order[i]]);
      const Index in_last = i - (kept() - below);
      if (i < above) first.col(i) = column.head(split);
      if (in_last >= 0) last.col(in_last) = column.tail(rest);
      for (Index j = 0; j < kept(); ++j) turned(j, i) = vectors(order[j], i);
    }
    to.setZero();
    addProduct<R>(operand<R>(first), operand<R>(turned.topRows(above)), 1, to.topRows(split));
    addProduct<R>(operand<R>(last), operand<R>(turned.bottomRows(below)), 1, to.bottomRows(rest));
  }

  Eigen::Ref<VectorX<R>> d_;
  VectorX<R> z_;
  KeptVector<Index> order_, kept_, deflated_;
  KeptVector<Index> rising_;  // places among the kept and then the deflated ones
  KeptVector<Rows> rows_;
};

// Numbers beside others of such a size that deflation takes for none.
template <class R>
R negligibleBeside(R size) {
  return 8 * std::numeric_limits<R>::epsilon() * size;
}

}  // namespace tercel::linalg
