// Eigenvalues of Hermitian matrices in lanes: as symmetric.cc and symmetric_tridiagonal.h find them
// one by one.
#pragma once
#include "runtime/linalg/lane_rotations.h"

namespace tercel::linalg::lanes {
namespace {

// As TwoByTwo of symmetric_tridiagonal.h.
template <class R>
struct TwoByTwo {
  using V = Vector<R>;
  V first, second, c, s;

  TwoByTwo(V a, V b, V d) {
    const V one = all(R(1)), sum = a + d, difference = a - d, twice = b + b;
    const V root = squareRoot<R>(difference * difference + twice * twice);
    const Mask<R> is_first = absolute(a) > absolute(d);
    const V large = is_first ? a : d, small = is_first ? d : a;
    first = (sum < 0 ? sum - root : sum + root) / 2;
    const V divisor = first == 0 ? one : first;
    second = sum == 0 ? -first : (large / divisor) * small - (b / divisor) * b;
    const Mask<R> rises = difference >= 0;
    const V cosine = difference + (rises ? root : -root);
    const Mask<R> is_wide = absolute(cosine) > absolute(twice);
    const V over = is_wide ? cosine : (twice == 0 ? one : twice);
    const V tangent = -(is_wide ? twice : twice == 0 ? V{} : cosine) / over;
    const V near = 1 / squareRoot<R>(one + tangent * tangent), far = tangent * near;
    const V c0 = is_wide ? far : near, s0 = is_wide ? near : far;
    const Mask<R> turns = (sum >= 0) == rises;
    c = turns ? -s0 : c0;
    s = turns ? c0 : s0;
  }
};

// A symmetric tridiagonal matrix, of the order of 1: the diagonal d, and e beside it. The columns
// of v, if any, are turned with it. `rotations` has room for 2 n numbers.
template <class T>
class SymmetricTridiagonal {
 public:
  using R = RealOf<T>;
  using N = Number<T>;
  using V = Vector<R>;

  SymmetricTridiagonal(int64_t size, V* diagonal, V* beside, V* rotations, View<N> columns)
      : n_(size), d_(diagonal), e_(beside), c_(rotations), s_(rotations + size), v_(columns) {}

  // d becomes the eigenvalues, rising. Lanes that have not converged.
  Mask<R> run() {
    constexpr int64_t kMost = 30;
    beginBlocks();
    for (int64_t steps = kMost * n_; deflate(); --steps) {
      if (steps == 0) return last_ >= 0;
      step();
    }
    if (anyOf<R>(whole_reversed_)) reverse(whole_reversed_);
    sort();
    return Mask<R>{};
  }

 private:
  using I = decltype(Mask<R>{}[0] + 0);
  static constexpr R kRounding = Limits<R>::kEpsilon / 2;
  static constexpr int64_t kNone = -2;  // less than any block's last row is when it is done

  static R absoluteOf(R x) { return x < 0 ? -x : x; }
  bool divides(int64_t k, int l) const {
    const R beside = rootOf(absoluteOf(d_[k][l])) * rootOf(absoluteOf(d_[k + 1][l]));
    return !(absoluteOf(e_[k][l]) > kRounding * beside);
  }
  // As most matrices are, undivided: all rows are one block.
  void beginBlocks() {
    Mask<R> divided = {};
    for (int64_t k = 0; k + 1 < n_; ++k) {
      const V beside = squareRoot<R>(absolute(d_[k])) * squareRoot<R>(absolute(d_[k + 1]));
      divided |= ~(absolute(e_[k]) > kRounding * beside);
    }
    const Mask<R> rises = ~(absolute(d_[n_ - 1]) < absolute(d_[0]));
    whole_reversed_ = n_ > 1 ? ~divided & rises : Mask<R>{};
    if (anyOf<R>(whole_reversed_)) reverse(whole_reversed_);
    low_ = Mask<R>{};
    last_ = high_ = integers<R>(n_ > 1 ? n_ - 1 : kNone);
    next_ = integers<R>(n_);
    in_reverse_ = whole_reversed_;
    if (!anyOf<R>(divided)) return;
    next_ = divided ? Mask<R>{} : next_;
    for (int l = 0; l < kLanes<R>; ++l)
      if (divided[l]) beginBlock(l);
  }
  void reverse(Mask<R> lanes) const {
    for (int64_t i = 0, j = n_ - 1; i < j; ++i, --j) {
      exchange<R>(lanes, d_[i], d_[j]);
      exchange<R>(lanes, e_[i], e_[j - 1]);
      if (v_.data) exchangeColumns<R>(lanes, v_, n_, i, j);
    }
  }

  // The next block of several rows; if there is none, `last_` is negative.
  void beginBlock(int l) {
    int64_t begin = next_[l], end = begin;
    for (; begin < n_; begin = end + 1) {
      for (end = begin; end + 1 < n_ && !divides(end, l);) ++end;
      if (end + 1 < n_) e_[end][l] = 0;
      if (end > begin) break;
    }
    low_[l] = static_cast<I>(begin);
    last_[l] = high_[l] = static_cast<I>(begin < n_ ? end : kNone);
    next_[l] = static_cast<I>(end + 1);
    const bool rises = begin < n_ && !(absoluteOf(d_[end][l]) < absoluteOf(d_[begin][l]));
    in_reverse_[l] = rises ? I(-1) : I(0);
    if (rises) reverse(l);
  }
  static void exchangeLane(int l, V& x, V& y) {
    const R old = x[l];
    x[l] = y[l];
    y[l] = old;
  }
  static void exchangeLane(int l, ComplexLanes<R>& x, ComplexLanes<R>& y) {
    exchangeLane(l, x.re, y.re);
    exchangeLane(l, x.im, y.im);
  }
  void reverse(int l) const {
    for (int64_t i = low_[l], j = high_[l]; i < j; ++i, --j) {
      exchangeLane(l, d_[i], d_[j]);
      exchangeLane(l, e_[i], e_[j - 1]);
      for (int64_t k = 0; v_.data && k < n_; ++k) exchangeLane(l, v_(k, i), v_(k, j));
    }
  }
  // Where no row is left, the next block.
  void endBlocks() {
    const Mask<R> ended = (last_ != kNone) & (last_ <= low_);
    if (!anyOf<R>(ended)) return;
    last_ = (ended & (next_ >= I(n_))) ? integers<R>(kNone) : last_;
    const Mask<R> changes = ended & ((next_ < I(n_)) | (in_reverse_ & ~whole_reversed_));
    if (!anyOf<R>(changes)) return;
    for (int l = 0; l < kLanes<R>; ++l) {
      if (!changes[l]) continue;
      if (in_reverse_[l]) reverse(l);
      beginBlock(l);
    }
  }

  // Finds rows to turn, `first_` to `last_`. False where no lane has any.
  bool deflate() {
    for (;;) {
      findFirst();
      const Mask<R> done = (first_ == last_) & (last_ >= 0);
      if (!anyOf<R>(done)) return anyOf<R>(last_ >= 0);
      last_ += done;
      endBlocks();
    }
  }
  void findFirst() {
    Mask<R> open = last_ >= 0;
    first_ = low_;
    for (int64_t k = n_ - 2; k >= 0; --k) {
      const V size = e_[k] * e_[k];
      const V rounded = kRounding * kRounding * absolute(d_[k]) * absolute(d_[k + 1]);
      const Mask<R> stops = open & (low_ <= I(k)) & (last_ > I(k)) & ~(size > rounded + Limits<R>::kTiny);
      e_[k] = stops ? V{} : e_[k];
      first_ = stops ? integers<R>(k + 1) : first_;
      open &= ~stops;
    }
  }

  // Of lanes with two rows the eigenvalues; of others one sweep from the first row to the last.
  void step() {
    const Mask<R> is_open = last_ >= 0, is_two = is_open & (first_ + 1 == last_);
    int64_t from = 0, to = n_ - 1;
    while (!anyOf<R>(is_open & (first_ <= I(from)))) ++from;
    while (!anyOf<R>(last_ >= I(to))) --to;
    V g = start(from, to), cosine = all(R(1)), sine = cosine, moved = {};
    for (int64_t k = from; k < to; ++k) {
      const Mask<R> begins = is_open & (first_ == I(k));
      const Mask<R> turns = is_open & ~is_two & (first_ <= I(k)) & (last_ > I(k));
      c_[k] = all(R(1));
      s_[k] = V{};
      if (anyOf<R>(turns)) {
        const V b = cosine * e_[k];
        const Rotation<R> turn(g, sine * e_[k]);
        if (k > from) e_[k - 1] = turns & ~begins ? turn.size : e_[k - 1];
        const V here = d_[k] - moved, across = (d_[k + 1] - here) * turn.s + 2 * turn.c * b;
        const Mask<R> ends = turns & (last_ == I(k + 1));
        cosine = turns ? turn.c : cosine;
        sine = turns ? turn.s : sine;
        moved = turns ? turn.s * across : moved;
        g = turns ? turn.c * across - b : g;
        d_[k] = turns ? here + moved : d_[k];
        d_[k + 1] = ends ? d_[k + 1] - moved : d_[k + 1];
        e_[k] = ends ? g : e_[k];
        c_[k] = turns ? turn.c : all(R(1));
        s_[k] = turns ? turn.s : V{};
      }
      if (anyOf<R>(begins & is_two)) solveTwo(k, begins & is_two);
    }
    if (v_.data) turnColumns(v_, n_, from, to, c_, s_);
    last_ = is_two ? last_ - 2 : last_;
    endBlocks();
  }

  // What the sweeps begin with.
  V start(int64_t from, int64_t to) const {
    V top = {}, before = {}, end = {}, beside = {};
    for (int64_t k = from; k <= to; ++k) {
      top = first_ == I(k) ? d_[k] : top;
      end = last_ == I(k) ? d_[k] : end;
      if (k == to) break;
      before = last_ == I(k + 1) ? d_[k] : before;
      beside = last_ == I(k + 1) ? e_[k] : beside;
    }
    const V one = all(R(1)), safe = beside == 0 ? one : beside;
    const V half = (before - end) / (2 * safe);
    const V size = absolute(half) > Limits<R>::kLargeRoot
                       ? absolute(half) : squareRoot<R>(half * half + one);
    return top - end + beside / (half + (half < 0 ? -size : size));
  }
  void solveTwo(int64_t k, Mask<R> chosen) {
    const Mask<R> reversed = in_reverse_;
    const TwoByTwo<R> two(reversed ? d_[k + 1] : d_[k], e_[k], reversed ? d_[k] : d_[k + 1]);
    d_[k] = chosen ? (reversed ? two.second : two.first) : d_[k];
    d_[k + 1] = chosen ? (reversed ? two.first : two.second) : d_[k + 1];
    e_[k] = chosen ? V{} : e_[k];
    c_[k] = chosen ? two.c : c_[k];
    s_[k] = chosen ? (reversed ? -two.s : two.s) : s_[k];
  }
  // By exchanges of the next one with the least of the rest.
  void sort() const {
    for (int64_t i = 0; i + 1 < n_; ++i) {
      Mask<R> at = integers<R>(i);
      V least = d_[i];
      for (int64_t j = i + 1; j < n_; ++j) {
        const Mask<R> is_less = d_[j] < least;
        at = is_less ? integers<R>(j) : at;
        least = is_less ? d_[j] : least;
      }
      for (int64_t j = i + 1; j < n_; ++j) {
        const Mask<R> swaps = at == I(j);
        if (!anyOf<R>(swaps)) continue;
        d_[j] = swaps ? d_[i] : d_[j];
        if (v_.data) exchangeColumns<R>(swaps, v_, n_, i, j);
      }
      d_[i] = least;
    }
  }

  int64_t n_;
  V *d_, *e_, *c_, *s_;
  View<N> v_;
  // Of each lane: the block that is at work, its rows `low_` to `high_`, in reverse (all bits, or
  // none) where numbers rise; of these the ones up to `last_` are not done, which is kNone where
  // nothing is left; and the row after the block.
  Mask<R> low_, high_, last_, next_, in_reverse_;
  Mask<R> first_;  // of the rows that a step turns
  Mask<R> whole_reversed_;  // where the block is all rows
};

// a = Q t Q^H by a's lower triangle: t's diagonals, and Q as reflectors on the rows from 1 on.
template <class T>
void tridiagonalize(View<Number<T>> a, int64_t n, Vector<RealOf<T>>* d, Vector<RealOf<T>>* e,
                    Number<T>* taus, Number<T>* w) {
  using N = Number<T>;
  using R = RealOf<T>;
  for (int64_t k = 0; k < n; ++k) {
    d[k] = realOf(a(k, k));
    if (k + 1 == n) return;
    const int64_t rest = n - k - 1;
    N* v = &a(k + 1, k);
    const N tau = taus[k] = makeReflector<T>(v, rest);
    e[k] = realOf(v[0]);
    v[0] = asNumber(N{}, all(R(1)));
    const View<N> left = from(a, k + 1, k + 1);
    for (int64_t i = 0; i < rest; ++i) w[i] = N{};
    for (int64_t j = 0; j < rest; ++j) {
      const N here = v[j];
      N sum = w[j] + here * realOf(left(j, j));
      for (int64_t i = j + 1; i < rest; ++i) {
        const N x = left(i, j);
        w[i] = w[i] + x * here;
        sum = sum + conjugate(x) * v[i];
      }
      w[j] = sum;
    }
    N product = {};
    for (int64_t i = 0; i < rest; ++i) {
      w[i] = w[i] * tau;
      product = product + conjugate(w[i]) * v[i];
    }
    const N factor = tau * product * all(R(-0.5));
    for (int64_t i = 0; i < rest; ++i) w[i] = w[i] + v[i] * factor;
    for (int64_t j = 0; j < rest; ++j) {
      const N of_w = conjugate(w[j]), of_v = conjugate(v[j]);
      for (int64_t i = j; i < rest; ++i) left(i, j) = left(i, j) - v[i] * of_w - w[i] * of_v;
    }
  }
}

template <class V>
void reverse(V* numbers, int64_t size) {
  for (int64_t i = 0, j = size - 1; i < j; ++i, --j) {
    const V old = numbers[i];
    numbers[i] = numbers[j];
    numbers[j] = old;
  }
}

// With Q's rows and columns in reverse if asked.
template <class T>
void orthogonalBelow(View<Number<T>> a, int64_t n, const Number<T>* taus, bool in_reverse,
                     View<Number<T>> q) {
  orthogonalBelow<T>(from(a, 1, 0), n, taus, q);
  if (in_reverse) reverse(q.data, n * n);
}

}  // namespace

namespace TERCEL_ISA {

template <class T>
void syevd(const Job<T>& job) {
  using N = Number<T>;
  using R = RealOf<T>;
  using V = Vector<R>;
  const int64_t n = job.n;
  const bool in_reverse = !job.triangle.lower;
  N* scratch = take<T>(job, job.a, n * n, scratchOf(job));
  if (in_reverse) reverse(scratch, n * n);
  const View<N> a{scratch, 1, n};
  for (int64_t j = 0; j < n; ++j) {
    a(j, j) = asNumber(N{}, realOf(a(j, j)));
    for (int64_t i = 0; i < j; ++i) a(i, j) = N{};
  }
  const Scaled<T> scaled(scratch, n * n);
  N *q = scratch + n * n, *taus = q + n * n, *w = taus + n;
  V *d = reinterpret_cast<V*>(w + n), *e = d + n, *rotations = e + n;
  tridiagonalize<T>(a, n, d, e, taus, w);
  if (in_reverse) {
    reverse(d, n);
    reverse(e, n - 1);
  }
  const View<N> v{job.has_vectors ? q : nullptr, 1, n};
  if (v.data) orthogonalBelow<T>(a, n, taus, in_reverse, v);
  const Mask<R> failed = SymmetricTridiagonal<T>(n, d, e, rotations, v).run() | scaled.notFinite();
  for (int64_t i = 0; i < n; ++i) d[i] = scaled.back(d[i]);
  putReals<R>(d, n, n, job.count, static_cast<R*>(job.values) + job.first * n);
  if (v.data) put(job, v.data, n * n, job.a);
  putIntegers<R>(failed & integers<R>(1), 1, job.count, job.info + job.first);
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::lanes
