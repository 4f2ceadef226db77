// Small-bulge multishift QR with aggressive early deflation: Braman, Byers and Mathias, 2002.
#include "runtime/linalg/schur_iteration.h"

#include "runtime/linalg/dense_steps.h"
#include "runtime/linalg/kept_vector.h"
#include "runtime/linalg/reflector_block.h"
#include "runtime/linalg/schur_blocks.h"
#include "runtime/linalg/schur_form.h"

namespace tercel::linalg {
namespace {

// Blocks of no more rows are done with one bulge at a time, all of them in the nearer caches.
constexpr Index kSmall = 80;
constexpr Index kMaxSteps = 30;  // for each eigenvalue; two or three are usual

template <class T>
using ShiftsOf = dense::Shifts<Real<T>>;

// The eigenvalues of a block of two rows.
template <class T>
std::array<Complex<T>, 2> eigenvaluesOfTwo(T a, T b, T c, T d) {
  const Complex<T> half = (Complex<T>(a) - Complex<T>(d)) / Real<T>(2);
  const Complex<T> root = std::sqrt(half * half + Complex<T>(b) * Complex<T>(c));
  const Complex<T> middle = Complex<T>(d) + half;
  return {middle + root, middle - root};
}
template <class C, class R = typename C::value_type>
dense::Shifts<R> shiftsOf(C first, C second) {
  return {{first.real(), first.imag()}, {second.real(), second.imag()}};
}

template <class T>
class SchurIteration {
 public:
  using R = Real<T>;
  SchurIteration(MatrixX<T>& h, MatrixX<T>& z, bool wants_form)
      : h_(h), z_(z), wants_form_(wants_form) {}

  bool run() {
    const Index n = h_.rows();
    Index steps = kMaxSteps * n, stalled = 0;
    for (Index end = n; end > 0;) {
      const Index first = startOf(end);
      const Index before = end;
      if (end - first <= 2) {
        if (end - first == 2) formBlock<T>(place(first, end), first);
        end = first;
      } else if (n > kSmall && end - first <= kSmall) {
        if (!finish(first, end)) return false;
        end = first;
      } else if (steps-- == 0) {
        return false;
      } else if (n > kSmall) {
        if (!deflateAndSweep(first, end, stalled)) return false;
      } else {
        step(first, end, stalled);
      }
      stalled = end == before ? stalled + 1 : 0;
    }
    return true;
  }

 private:
  // What a change of rows [first, end) changes.
  SchurPlace<T> place(Index first, Index end) {
    return {h_, z_, wants_form_ ? 0 : first, wants_form_ ? h_.cols() : end};
  }

  // Of the block that ends at `end`: no element below its diagonal is negligible.
  Index startOf(Index end) {
    for (Index k = end; --k > 0;) {
      if (!isNegligible(k)) continue;
      h_(k, k - 1) = T(0);
      return k;
    }
    return 0;
  }
  // Ahues and Tisseur, 1997.
  bool isNegligible(Index k) const {
    constexpr R epsilon = std::numeric_limits<R>::epsilon();
    const R below = sizeOf(h_(k, k - 1)), least = kExact<R> * R(h_.rows());
    if (below <= least) return true;
    const R last = sizeOf(h_(k, k));
    R beside = sizeOf(h_(k - 1, k - 1)) + last;
    if (beside == 0) {
      if (k > 1) beside += sizeOf(h_(k - 1, k - 2));
      if (k + 1 < h_.rows()) beside += sizeOf(h_(k + 1, k));
    }
    if (below > epsilon * beside) return false;
    const R above = sizeOf(h_(k - 1, k)), apart = sizeOf(h_(k - 1, k - 1) - h_(k, k));
    const R sum = std::max(last, apart) + std::max(below, above);
    return std::min(below, above) * (std::max(below, above) / sum) <=
           std::max(least, epsilon * (std::min(last, apart) * (std::max(last, apart) / sum)));
  }

  // Once through a small block with the eigenvalues of its last two rows as shifts, now and then
  // with others.
  void step(Index first, Index end, Index stalled) {
    const Index k = end - 1;
    auto values = eigenvaluesOfTwo<T>(h_(k - 1, k - 1), h_(k - 1, k), h_(k, k - 1), h_(k, k));
    const Complex<T> last = h_(k, k);
    if (stalled % 10 == 9) {
      const R size = std::abs(h_(k, k - 1)) + std::abs(h_(k - 1, k - 2));
      values = {last + Complex<T>(R(0.75) * size), last + Complex<T>(R(0.75) * size)};
    } else if (kIsComplex<T> || values[0].imag() == 0) {
      const bool is_first = std::abs(values[0] - last) < std::abs(values[1] - last);
      values[0] = values[1] = values[is_first ? 0 : 1];
    }
    const ShiftsOf<T> shifts = shiftsOf(values[0], values[1]);
    const SchurPlace<T> place = this->place(first, end);
    dense::chaseBulges<T>({.h = h_.data(),
                           .column = h_.outerStride(),
                           .u = z_.cols() > 0 ? z_.data() : nullptr,
                           .u_column = z_.outerStride(),
                           .u_rows = z_.rows(),
                           .top = place.top,
                           .right = place.right,
                           .begin = first,
                           .end = end,
                           .count = 1,
                           .shifts = &shifts,
                           .is_single = kIsComplex<T>,
                           .position = first - 1,
                           .steps = end - first - 1});
  }

  // A small block to its end.
  bool finish(Index first, Index end) {
    MatrixX<T> t = h_.block(first, first, end - first, end - first);
    MatrixX<T> u = identity(end - first, first, end);
    if (!iterateSchur<T>(t, u, u.cols() > 0)) return false;
    h_.block(first, first, end - first, end - first) = t;
    if (u.cols() > 0) spread(u, first, place(first, end));
    return true;
  }
  // To find out what rows within [first, end) are multiplied by; empty where nobody needs to know.
  MatrixX<T> identity(Index size, Index first, Index end) {
    const bool is_alone = !wants_form_ && z_.cols() == 0 && size == end - first;
    return is_alone ? MatrixX<T>() : MatrixX<T>(MatrixX<T>::Identity(size, size));
  }

  // The diagonal block at `first` has become u^H (it) u: so what is beside it.
  void spread(const MatrixX<T>& u, Index first, const SchurPlace<T>& place) {
    const Index size = u.rows(), end = first + size;
    const Operand<T> by = operand<T>(u);
    multiply(operand<T>(h_.block(place.top, first, first - place.top, size)), by,
             h_.block(place.top, first, first - place.top, size));
    multiply(by.adjoint(), operand<T>(h_.block(first, end, size, place.right - end)),
             h_.block(first, end, size, place.right - end));
    if (z_.cols() > 0)
      multiply(operand<T>(z_.middleCols(first, size)), by, z_.middleCols(first, size));
  }
  void multiply(const Operand<T>& a, const Operand<T>& b, MatrixRef<T> c) {
    MatrixX<T> product = MatrixX<T>::Zero(c.rows(), c.cols());
    addProduct<T>(a, b, 1, product);
    c = product;
  }

  bool deflateAndSweep(Index first, Index end, Index stalled) {
    const Index size = end - first, shifts = shiftCount(size);
    const Index window = std::min(size, stalled > 4 ? 2 * shifts : shifts * 3 / 2);
    KeptVector<Complex<T>> values;
    const Index deflated = deflate(first, end, window, values);
    if (deflated < 0) return false;
    constexpr Index kEnough = 14;  // of a hundred: as many again may be deflated at once
    if (100 * deflated > kEnough * window || values.size() < 2) return true;
    sweep(first, end - deflated, pairsOf(values, shifts / 2, end - deflated, stalled));
    return true;
  }
  static Index shiftCount(Index size) {
    if (size < 150) return 10;
    return std::max<Index>(10, size / Index(std::lround(std::log2(double(size)))) / 2 * 2);
  }

  // The last of the values, two and two.
  KeptVector<ShiftsOf<T>> pairsOf(const KeptVector<Complex<T>>& values, Index most, Index end,
                                   Index stalled) const {
    KeptVector<ShiftsOf<T>> pairs;
    if (stalled % 6 == 5) {
      for (Index k = end - 1; k > 1 && Index(pairs.size()) < most; --k) {
        const R size = std::abs(h_(k, k - 1)) + std::abs(h_(k - 1, k - 2));
        const Complex<T> shift = Complex<T>(h_(k, k)) + Complex<T>(R(0.75) * size);
        pairs.push_back(shiftsOf(shift, shift));
      }
      return pairs;
    }
    const Complex<T>* single = nullptr;
    for (size_t k = values.size(); k-- > 0 && Index(pairs.size()) < most;) {
      if (!kIsComplex<T> && values[k].imag() != 0) {
        pairs.push_back(shiftsOf(values[k], values[k - 1]));
        --k;
      } else if (single) {
        pairs.push_back(shiftsOf(*single, values[k]));
        single = nullptr;
      } else {
        single = &values[k];
      }
    }
    if (pairs.empty()) pairs.push_back(shiftsOf(*single, *single));
    return pairs;
  }

  // How many of the last eigenvalues of the block, found from a window of its last rows, are
  // eigenvalues of the whole; the others of the window in `values`. -1: not found.
  Index deflate(Index first, Index end, Index size, KeptVector<Complex<T>>& values) {
    const Index start = end - size;
    const T beside = start == first ? T(0) : h_(start, start - 1);
    MatrixX<T> t = h_.block(start, start, size, size);
    MatrixX<T> u = MatrixX<T>::Identity(size, size);
    if (!iterateSchur<T>(t, u, true)) return -1;
    const Index kept = beside == T(0) ? 0 : keptOf(t, u, beside);
    readValues(t, kept, values);
    if (kept == size) return 0;
    if (kept > 1) restoreHessenberg(t, u, kept);
    if (beside != T(0))
      h_(start, start - 1) = kept == 0 ? T(0) : beside * Eigen::numext::conj(u(0, 0));
    h_.block(start, start, size, size) = t;
    spread(u, start, place(first, end));
    return size - kept;
  }
  // Those that are not eigenvalues of the whole come first.
  Index keptOf(MatrixX<T>& t, MatrixX<T>& u, T beside) {
    constexpr R epsilon = std::numeric_limits<R>::epsilon();
    const R least = kExact<R> * R(h_.rows());
    const SchurPlace<T> place{t, u, 0, t.cols()};
    Index kept = t.rows();
    for (Index front = 0; front < kept;) {
      const Index block = blockSize(t, front, kept), k = kept - block;
      R value = std::abs(t(k, k)), spike = std::abs(beside * u(0, k));
      if (block == 2) {
        value += std::sqrt(std::abs(t(k + 1, k))) * std::sqrt(std::abs(t(k, k + 1)));
        spike = std::max(spike, std::abs(beside * u(0, k + 1)));
      }
      if (value == 0) value = std::abs(beside);
      if (spike <= std::max(least, epsilon * value)) {
        kept = k;
      } else if (moveBlockUp(place, k, block, front)) {
        front += block;
      } else {
        break;
      }
    }
    return kept;
  }
  static void readValues(const MatrixX<T>& t, Index count, KeptVector<Complex<T>>& values) {
    for (Index i = 0; i < count; ++i) {
      if (i + 1 == count || t(i + 1, i) == T(0)) {
        values.push_back(t(i, i));
        continue;
      }
      for (Complex<T> value :
           eigenvaluesOfTwo<T>(t(i, i), t(i, i + 1), t(i + 1, i), t(i + 1, i + 1)))
        values.push_back(value);
      ++i;
    }
  }
  // The first row of u becomes (x, 0, ...) in its first `size` columns, and t there a Hessenberg
  // matrix again.
  static void restoreHessenberg(MatrixX<T>& t, MatrixX<T>& u, Index size) {
    VectorX<T> v = u.row(0).head(size).adjoint();
    const T tau = makeReflector<T>(v);
    for (Index j = 0; j < t.cols(); ++j)
      reflect(v, T(Eigen::numext::conj(tau)), t.col(j).head(size));
    reflectRows<T>(v, tau, t.topLeftCorner(size, size));
    reflectRows<T>(v, tau, u.leftCols(size));
    VectorX<T> taus(t.rows() - 1);
    hessenberg<T>(t, 0, size, taus);
    MatrixX<T> q = u.leftCols(size).adjoint();
    applyBlocks<T>(t.block(1, 0, size - 1, size - 1), taus.head(size - 1), true,
                   q.bottomRows(size - 1));
    u.leftCols(size) = q.adjoint();
    for (Index j = 0; j + 2 < size; ++j) t.col(j).segment(j + 2, size - j - 2).setZero();
  }

  // Bulges of all shifts through the block, by windows that they are in together.
  void sweep(Index first, Index end, const KeptVector<ShiftsOf<T>>& pairs) {
    const Index count = Index(pairs.size()), steps = 3 * count;
    for (Index front = first - 1, last = end - 2 + 3 * (count - 1); front < last; front += steps) {
      const Index start = std::max(first, front - 3 * (count - 1));
      const Index size = std::min(end, front + steps + 4) - start;
      MatrixX<T> window = h_.block(start, start, size, size);
      MatrixX<T> u = identity(size, first, end);
      dense::chaseBulges<T>({.h = window.data(),
                             .column = size,
                             .u = u.cols() > 0 ? u.data() : nullptr,
                             .u_column = size,
                             .u_rows = size,
                             .top = 0,
                             .right = size,
                             .begin = first - start,
                             .end = end - start,
                             .count = count,
                             .shifts = pairs.data(),
                             .position = front - start,
                             .steps = steps});
      h_.block(start, start, size, size) = window;
      if (u.cols() > 0) spread(u, start, place(first, end));
    }
  }

  MatrixX<T>& h_;
  MatrixX<T>& z_;
  const bool wants_form_;
};

}  // namespace

template <class T>
bool iterateSchur(MatrixX<T>& h, MatrixX<T>& z, bool wants_form) {
  return SchurIteration<T>(h, z, wants_form).run();
}

#define INSTANTIATE(T) template bool iterateSchur<T>(MatrixX<T>&, MatrixX<T>&, bool);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
