// LU of a few columns with exchanges of rows, by Crout: of each column what those before leave, of
// each pivot's row what those before leave of it.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

template <class R>
class LuPanel {
  using Index = typename VectorOf<R>::Index;
  static constexpr int kL = kLanes<R>;
  static constexpr int64_t kRowVectors = kPanelColumns / kL;  // of a row of all columns
  static_assert(kRowVectors * kL == kPanelColumns);

 public:
  explicit LuPanel(const Panel<R>& job)
      : job_(job), lead_((job.m + kL - 1) / kL * kL), below_(static_cast<R*>(job.scratch)) {}

  // The first pivot that is 0, from 1; 0: none.
  int32_t factor() {
    int32_t zero = 0;
    for (int64_t j = 0; j < job_.n; ++j) {
      const int64_t pivot = takeColumn(j);
      job_.pivots[j] = static_cast<int32_t>(pivot);
      exchange(j, pivot);
      makeRow(j);
      if (column(j)[j] != 0) {
        divide(j);
      } else if (zero == 0) {
        zero = static_cast<int32_t>(j + 1);
      }
      column(j)[j] = 0;
    }
    putBack();
    return zero;
  }

 private:
  // What is left of column j from row j on, which is looked through for the largest number. What
  // stands below the last row is 0 or not a number, and never larger.
  int64_t takeColumn(int64_t j) {
    const int64_t start = j / kL * kL;
    R* to = column(j);
    Vector<R> best = R(-1) - Vector<R>{};
    Index places = {}, here = {};
    TERCEL_UNROLL
    for (int l = 0; l < kL; ++l) here[l] = static_cast<int>(start + l);
    for (int64_t i = start; i < lead_; i += kL, here += kL) {
      Vector<R> x = load(i, j);
      for (int64_t k = 0; k < j; ++k) x -= kernels::loadVector(column(k) + i) * rows_[k][j];
      kernels::storeVector(to + i, x);
      const Vector<R> size = x < 0 ? -x : x;
      const Index is_larger = (size > best) & (here >= static_cast<int32_t>(j));
      best = is_larger ? size : best;
      places = is_larger ? here : places;
    }
    for (int64_t i = start; i < j; ++i) to[i] = 0;
    return to[j] == to[j] ? placeOfLargest(best, places, j) : j;  // not a number: it stays
  }
  // Rows from i on of column j, those from j on.
  TERCEL_PART Vector<R> load(int64_t i, int64_t j) const {
    if (i >= j && i + kL <= job_.m) return kernels::loadVector(&at(i, j));
    const int64_t rows = job_.m - i;
    return Few<R>(rows < kL ? rows : kL, i < j ? j - i : 0).load(&at(i, j));
  }

  // The first one of equal ones; `none` where nothing is 0 or larger.
  static int64_t placeOfLargest(Vector<R> best, Index places, int64_t none) {
    using Place = decltype(Index{}[0] + 0);  // largest: no place
    const Vector<R> most = acrossLanes<R>(
        best,
        [](Vector<R> x, Vector<R> y) __attribute__((always_inline)) { return y > x ? y : x; });
    constexpr auto kNowhere = static_cast<Place>(~(~uint64_t{0} << (8 * sizeof(Place) - 1)));
    const Index equal = best == most ? places : kNowhere - Index{};
    const Index first = acrossLanes<R>(
        equal, [](Index x, Index y) __attribute__((always_inline)) { return y < x ? y : x; });
    return most[0] >= 0 ? first[0] : none;
  }

  // Of all columns: those before j and j itself in their copies.
  void exchange(int64_t j, int64_t pivot) {
    if (pivot == j) return;
    auto swap = [](R& x, R& y) {
      const R before = x;
      x = y;
      y = before;
    };
    for (int64_t k = 0; k <= j; ++k) swap(column(k)[j], column(k)[pivot]);
    for (int64_t k = j + 1; k < job_.n; ++k) swap(at(j, k), at(pivot, k));
  }

  // The pivot's row behind it.
  void makeRow(int64_t j) {
    R* row = rows_[j];
    for (int64_t c = 0; c < kPanelColumns; ++c) row[c] = c > j && c < job_.n ? at(j, c) : R(0);
    Vector<R> x[kRowVectors];
    for (int64_t v = 0; v < kRowVectors; ++v) x[v] = kernels::loadVector(row + v * kL);
    for (int64_t k = 0; k < j; ++k)
      for (int64_t v = 0; v < kRowVectors; ++v)
        x[v] -= kernels::loadVector(rows_[k] + v * kL) * column(k)[j];
    for (int64_t v = 0; v < kRowVectors; ++v) kernels::storeVector(row + v * kL, x[v]);
    row[j] = column(j)[j];
  }

  void divide(int64_t j) {
    Quotient<R> quotient;
    quotient.set(column(j) + j);
    for (int64_t i = j / kL * kL; i < lead_; i += kL) {
      Vector<R> x = kernels::loadVector(column(j) + i);
      quotient.divide(&x);
      kernels::storeVector(column(j) + i, x);
    }
  }

  void putBack() {
    for (int64_t j = 0; j < job_.n; ++j) {
      const int64_t known = j + 1 < job_.m ? j + 1 : job_.m;
      forEachVector<R>(
          job_.m - known, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
            lanes.store(&at(known + i, j), lanes.load(column(j) + known + i));
          });
      for (int64_t i = 0; i < known; ++i) at(i, j) = rows_[i][j];
    }
  }

  R* column(int64_t j) { return below_ + j * lead_; }
  R& at(int64_t i, int64_t j) const { return job_.a[i + j * job_.column]; }

  const Panel<R>& job_;
  const int64_t lead_;
  R* below_;  // the columns of l, 0 from the diagonal up
  alignas(64) R rows_[kPanelColumns][kPanelColumns] = {};  // of u
};

}  // namespace

namespace TERCEL_ISA {

template <class R>
void factorPanel(const Panel<R>& job) {
  *job.zero = LuPanel<R>(job).factor();
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
