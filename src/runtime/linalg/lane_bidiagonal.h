// Singular values of bidiagonal matrices in lanes: as bidiagonal.h finds them one by one.
#pragma once
#include "runtime/linalg/lane_rotations.h"

namespace tercel::linalg::lanes {
namespace {

template <class R>
Mask<R> isNegative(Vector<R> x) {  // -0 is
  Mask<R> bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits < 0;
}
template <class R>
Vector<R> withSign(Vector<R> x, Mask<R> negative) {
  return negative ? -x : x;
}

// As BidiagonalTwo of bidiagonal.h.
template <class R>
struct BidiagonalTwo {
  using V = Vector<R>;
  V first, second, left_c, left_s, right_c, right_s;

  BidiagonalTwo(V f, V g, V h) {
    const V one = all(R(1)), zero = {};
    const Mask<R> swaps = absolute(h) > absolute(f);
    const V large = swaps ? h : f, small = swaps ? f : h;
    const V size = absolute(large), least = absolute(small), beside = absolute(g);
    const Mask<R> is_alone = beside == 0;
    const Mask<R> is_beside = (beside > size) & (size < beside * (Limits<R>::kEpsilon / 2));
    const V divisor = size == 0 ? one : large, by_g = is_alone ? one : g;
    const V difference = size - least;
    const V part = difference == size ? one : difference / absolute(divisor);
    const V ratio = is_beside ? zero : g / divisor, other = 2 - part, square = ratio * ratio;
    const V sum = squareRoot<R>(other * other + square);
    const V root = squareRoot<R>(part * part + square);
    const V mean = (sum + root) / 2;
    const V near = root + part == 0 ? one : root + part;
    const V of_signs = withSign<R>(all(R(2)), isNegative<R>(large) ^ isNegative<R>(g));
    const V apart = difference == 0 ? one : withSign<R>(difference, isNegative<R>(large));
    const V tiny = part == 0 ? of_signs : g / apart + ratio / other;
    V tangent = (ratio / (sum + other) + ratio / near) * (1 + mean);
    tangent = square == 0 ? tiny : tangent;
    const V length = squareRoot<R>(tangent * tangent + 4);
    V c_r = 2 / length, s_r = tangent / length;
    V c_l = (c_r + s_r * ratio) / mean, s_l = small / divisor * s_r / mean;
    first = is_beside ? beside : is_alone ? size : size * mean;
    second = is_beside ? size / absolute(by_g) * least : is_alone ? least : least / mean;
    c_l = is_alone | is_beside ? one : c_l;
    s_l = is_beside ? small / by_g : is_alone ? zero : s_l;
    c_r = is_beside ? large / by_g : is_alone ? one : c_r;
    s_r = is_beside ? one : is_alone ? zero : s_r;
    left_c = swaps ? s_r : c_l;
    left_s = swaps ? c_r : s_l;
    right_c = swaps ? s_l : c_r;
    right_s = swaps ? c_l : s_r;
    const Mask<R> by_beside = isNegative<R>(right_s) ^ isNegative<R>(left_c) ^ isNegative<R>(g);
    const Mask<R> by_last = isNegative<R>(right_s) ^ isNegative<R>(left_s) ^ isNegative<R>(h);
    const Mask<R> by_first = isNegative<R>(right_c) ^ isNegative<R>(left_c) ^ isNegative<R>(f);
    const Mask<R> negative = beside > size ? by_beside : swaps ? by_last : by_first;
    first = withSign<R>(first, negative);
    second = withSign<R>(second, negative ^ isNegative<R>(f) ^ isNegative<R>(h));
  }
};

// The least singular value of (f g; 0 h).
template <class R>
Vector<R> leastOfTwo(Vector<R> f, Vector<R> g, Vector<R> h) {
  using V = Vector<R>;
  const V one = all(R(1)), of_f = absolute(f), of_h = absolute(h), beside = absolute(g);
  const V size = larger(of_f, of_h), least = of_f < of_h ? of_f : of_h;
  const V divisor = size == 0 ? one : size;
  const V sum = 1 + least / divisor, difference = (size - least) / divisor;
  const Mask<R> is_wide = !(beside < size);
  const V over = is_wide ? (beside == 0 ? one : beside) : divisor;
  const V ratio = (is_wide ? size : beside) / over;
  const V x = is_wide ? sum * ratio : ratio, y = is_wide ? difference * ratio : ratio;
  const V a = is_wide ? one : sum, b = is_wide ? one : difference;
  const V length = squareRoot<R>(a * a + x * x) + squareRoot<R>(b * b + y * y);
  const V value = least * (2 / (length == 0 ? one : length));
  return is_wide ? value * ratio : value;
}

// A bidiagonal matrix, of the order of 1: the diagonal d, and e above it. The columns of u and v,
// if any, are turned with it. `rotations` has room for 4 n numbers.
template <class T>
class Bidiagonal {
 public:
  using R = RealOf<T>;
  using N = Number<T>;
  using V = Vector<R>;

  Bidiagonal(int64_t size, V* diagonal, V* above, V* rotations, View<N> left, int64_t rows_left,
             View<N> right, int64_t rows_right)
      : n_(size), d_(diagonal), e_(above), u_turns_{rotations, rotations + size},
        v_turns_{rotations + 2 * size, rotations + 3 * size}, u_(left), v_(right),
        u_rows_(left.data ? rows_left : 0), v_rows_(right.data ? rows_right : 0) {}

  // d becomes the singular values, falling. Lanes that have not converged.
  Mask<R> run() {
    constexpr int64_t kMost = 12;  // steps for each value; two or three are usual
    findNegligible();
    last_ = integers<R>(n_ - 1);
    old_first_ = old_last_ = integers<R>(-1);
    reversed_ = Mask<R>{};
    for (int64_t steps = kMost * n_; findRows(); --steps) {
      if (steps == 0) return last_ > 0;
      step();
    }
    if (anyOf<R>(reversed_)) reverse(reversed_);
    sort();
    return Mask<R>{};
  }

 private:
  using I = decltype(Mask<R>{}[0] + 0);
  struct Turns {
    V *c, *s;
  };
  static constexpr R kRounding = Limits<R>::kEpsilon / 2;
  static constexpr R kTolerance = kRounding * (sizeof(R) == 4 ? R(10) : R(98.70149282610821));

  void findNegligible() {
    const V most = all(R(6) * R(n_) * (R(n_) * Limits<R>::kTiny));
    V mu = absolute(d_[0]), smallest = mu;
    for (int64_t i = 1; i < n_; ++i) {
      const V sum = mu + absolute(e_[i - 1]);
      mu = absolute(d_[i]) * (mu / (sum == 0 ? all(R(1)) : sum));
      smallest = mu < smallest ? mu : smallest;
    }
    negligible_ = larger(kTolerance * (smallest / rootOf(R(n_))), most);
  }

  void reverse(Mask<R> lanes) const {
    for (int64_t i = 0, j = n_ - 1; i < j; ++i, --j) {
      exchange<R>(lanes, d_[i], d_[j]);
      exchange<R>(lanes, e_[i], e_[j - 1]);
      exchangeColumns<R>(lanes, u_, u_rows_, i, j);
      exchangeColumns<R>(lanes, v_, v_rows_, i, j);
    }
  }
  V at(const V* numbers, Mask<R> place) const {
    V x = {};
    for (int64_t k = 0; k < n_; ++k) x = place == I(k) ? numbers[k] : x;
    return x;
  }

  // Finds the rows that a step turns, `low_` to `high_`. False where no lane has any.
  bool findRows() {
    for (;;) {
      const Mask<R> open = last_ > 0;
      if (!anyOf<R>(open)) return false;
      findBlock(open);
      const Mask<R> done = open & (low_ == high_);
      last_ += done;
      const Mask<R> several = open & (high_ - low_ >= 2);
      Mask<R> again = done;
      if (anyOf<R>(several)) {
        turnAround(several);
        again |= divide(several);
        const Mask<R> is_new = several & ~again;
        old_first_ = is_new ? (reversed_ ? I(n_ - 1) - high_ : low_) : old_first_;
        old_last_ = is_new ? last_ : old_last_;
      }
      if (!anyOf<R>(again)) return true;
    }
  }
  void findBlock(Mask<R> open) {
    low_ = reversed_ ? I(n_ - 1) - last_ : Mask<R>{};
    high_ = reversed_ ? integers<R>(n_ - 1) : last_;
    largest_ = absolute(at(d_, reversed_ ? low_ : high_));
    Mask<R> searched = open & ~reversed_;
    for (int64_t k = n_ - 2; k >= 0; --k)
      look(k, searched & (high_ > I(k)), I(k + 1), low_, searched, k);
    searched = open & reversed_;
    if (!anyOf<R>(searched)) return;
    for (int64_t k = 0; k + 1 < n_; ++k)
      look(k, searched & (low_ <= I(k)), I(k), high_, searched, k + 1);
  }
  // Whether a block ends beside element k, at row `end`; or goes on to row `next`.
  void look(int64_t k, Mask<R> here, I end, Mask<R>& limit, Mask<R>& searched, int64_t next) {
    const V beside = absolute(e_[k]), on = absolute(d_[next]);
    const Mask<R> stops = here & ~(beside > negligible_);
    e_[k] = stops ? V{} : e_[k];
    limit = stops ? Mask<R>{} + end : limit;
    searched &= ~stops;
    const V both = larger(beside, on);
    largest_ = (here & ~stops & (both > largest_)) ? both : largest_;
  }
  // From the end where numbers are larger, as long as it is about the same rows.
  void turnAround(Mask<R> several) {
    const Mask<R> block_first = reversed_ ? I(n_ - 1) - high_ : low_;
    const Mask<R> is_other = several & ((block_first > old_last_) | (last_ < old_first_));
    if (!anyOf<R>(is_other)) return;
    const V start = absolute(at(d_, low_)), end = absolute(at(d_, high_));
    const Mask<R> falls = reversed_ ? end >= start : start >= end;
    const Mask<R> changes = is_other & (falls == reversed_);
    if (!anyOf<R>(changes)) return;
    reverse(changes);
    reversed_ ^= changes;
    const Mask<R> old = low_;
    low_ = changes ? I(n_ - 1) - high_ : low_;
    high_ = changes ? I(n_ - 1) - old : high_;
  }
  // Lanes of which an element above the diagonal became 0.
  Mask<R> divide(Mask<R> several) {
    Mask<R> divided = {}, open = several;
    V mu = {};
    for (int64_t k = 0; k + 1 < n_; ++k) {
      const Mask<R> ends = open & (high_ == I(k + 1));
      const Mask<R> small = ends & (absolute(e_[k]) <= kTolerance * absolute(d_[k + 1]));
      e_[k] = small ? V{} : e_[k];
      divided |= small;
    }
    open &= ~divided;
    for (int64_t k = 0; k + 1 < n_; ++k) {
      mu = low_ == I(k) ? absolute(d_[k]) : mu;
      least_ = low_ == I(k) ? mu : least_;
      const Mask<R> here = open & (low_ <= I(k)) & (high_ > I(k));
      const V beside = absolute(e_[k]);
      const Mask<R> small = here & (beside <= kTolerance * mu);
      e_[k] = small ? V{} : e_[k];
      divided |= small;
      open &= ~small;
      const V sum = mu + beside;
      mu = here ? absolute(d_[k + 1]) * (mu / (sum == 0 ? all(R(1)) : sum)) : mu;
      least_ = (here & (mu < least_)) ? mu : least_;
    }
    return divided;
  }
  V shift(V start) const {
    const V digits = R(n_) * kTolerance * (least_ / (largest_ == 0 ? all(R(1)) : largest_));
    constexpr R kFew = kRounding > kTolerance / 100 ? kRounding : kTolerance / 100;
    const V tau = leastOfTwo<R>(at(d_, high_ - 1), at(e_, high_ - 1), at(d_, high_));
    const V part = tau / (start == 0 ? all(R(1)) : start);
    const Mask<R> none = (digits <= kFew) | ((start > 0) & (part * part < kRounding));
    return none ? V{} : tau;
  }

  // Of lanes with two rows the values; of others one sweep from row `low_` to `high_`.
  void step() {
    const Mask<R> open = last_ > 0, is_two = open & (low_ + 1 == high_), sweeps = open & ~is_two;
    int64_t from = 0, to = n_ - 1;
    while (!anyOf<R>(open & (low_ <= I(from)))) ++from;
    while (!anyOf<R>(open & (high_ >= I(to)))) --to;
    V f = {}, g = {}, c = all(R(1)), old_c = c, old_s = {};
    Mask<R> shifted = {};
    if (anyOf<R>(sweeps)) {
      const V start = at(d_, low_), size = absolute(start), tau = shift(size);
      shifted = tau != 0;
      f = (size - tau) * (withSign<R>(all(R(1)), isNegative<R>(start)) +
                          tau / (start == 0 ? all(R(1)) : start));
      g = at(e_, low_);
    }
    for (int64_t k = from; k < to; ++k) {
      const Mask<R> turns = sweeps & (low_ <= I(k)) & (high_ > I(k));
      u_turns_.c[k] = v_turns_.c[k] = all(R(1));
      u_turns_.s[k] = v_turns_.s[k] = V{};
      if (anyOf<R>(turns)) {
        const Mask<R> begins = low_ == I(k), ends = high_ == I(k + 1);
        const V here = d_[k], above = e_[k], next = d_[k + 1];
        const Rotation<R> right(shifted ? f : here * c, shifted ? g : above);
        if (k > from) {
          const V size = shifted ? right.size : old_s * right.size;
          e_[k - 1] = turns & ~begins ? size : e_[k - 1];
        }
        const V rest = right.c * above - right.s * here, below = right.c * next;
        const Rotation<R> left(shifted ? right.c * here + right.s * above : old_c * right.size,
                               right.s * next);
        d_[k] = turns ? left.size : here;
        const V end = below * left.c, shifted_above = left.c * rest + left.s * below;
        const V of_next = shifted ? left.c * below - left.s * rest : ends ? end : next;
        d_[k + 1] = turns ? of_next : next;
        const V last_above = shifted ? shifted_above : below * left.s;
        e_[k] = (turns & ends) ? (absolute(last_above) <= negligible_ ? V{} : last_above) : e_[k];
        if (k + 2 < n_) {
          const Mask<R> goes_on = turns & shifted & ~ends;
          g = goes_on ? left.s * e_[k + 1] : g;
          e_[k + 1] = goes_on ? left.c * e_[k + 1] : e_[k + 1];
        }
        f = turns ? shifted_above : f;
        c = turns ? right.c : c;
        old_c = turns ? left.c : old_c;
        old_s = turns ? left.s : old_s;
        note(k, turns, left, right);
      }
      const Mask<R> two = is_two & (low_ == I(k));
      if (anyOf<R>(two)) solveTwo(k, two);
    }
    last_ = is_two ? last_ - 2 : last_;
    if (u_rows_) turnColumns(u_, u_rows_, from, to, u_turns_.c, u_turns_.s);
    if (v_rows_) turnColumns(v_, v_rows_, from, to, v_turns_.c, v_turns_.s);
  }
  // In reverse, the transpose is turned.
  void note(int64_t k, Mask<R> turns, const Rotation<R>& left, const Rotation<R>& right) const {
    u_turns_.c[k] = turns ? (reversed_ ? right.c : left.c) : u_turns_.c[k];
    u_turns_.s[k] = turns ? (reversed_ ? right.s : left.s) : u_turns_.s[k];
    v_turns_.c[k] = turns ? (reversed_ ? left.c : right.c) : v_turns_.c[k];
    v_turns_.s[k] = turns ? (reversed_ ? left.s : right.s) : v_turns_.s[k];
  }
  void solveTwo(int64_t k, Mask<R> chosen) const {
    const BidiagonalTwo<R> two(reversed_ ? d_[k + 1] : d_[k], e_[k], reversed_ ? d_[k] : d_[k + 1]);
    d_[k] = chosen ? (reversed_ ? two.second : two.first) : d_[k];
    d_[k + 1] = chosen ? (reversed_ ? two.first : two.second) : d_[k + 1];
    e_[k] = chosen ? V{} : e_[k];
    u_turns_.c[k] = chosen ? two.left_c : u_turns_.c[k];
    u_turns_.s[k] = chosen ? withSign<R>(two.left_s, reversed_) : u_turns_.s[k];
    v_turns_.c[k] = chosen ? two.right_c : v_turns_.c[k];
    v_turns_.s[k] = chosen ? withSign<R>(two.right_s, reversed_) : v_turns_.s[k];
  }

  // Values become positive, and fall by exchanges of the last one with the least.
  void sort() const {
    for (int64_t k = 0; k < n_; ++k) {
      const Mask<R> negative = d_[k] < 0;
      d_[k] = absolute(d_[k]);
      if (!anyOf<R>(negative)) continue;
      const View<N> signs = n_ == 1 ? u_ : v_;
      for (int64_t i = 0; i < (n_ == 1 ? u_rows_ : v_rows_); ++i)
        signs(i, k) = pick(negative, N{} - signs(i, k), signs(i, k));
    }
    for (int64_t end = n_ - 1; end > 0; --end) {
      Mask<R> place = {};
      V low_value = d_[0];
      for (int64_t i = 1; i <= end; ++i) {
        const Mask<R> is_less = d_[i] <= low_value;
        place = is_less ? integers<R>(i) : place;
        low_value = is_less ? d_[i] : low_value;
      }
      for (int64_t i = 0; i < end; ++i) {
        const Mask<R> swaps = place == I(i);
        if (!anyOf<R>(swaps)) continue;
        d_[i] = swaps ? d_[end] : d_[i];
        exchangeColumns<R>(swaps, u_, u_rows_, i, end);
        exchangeColumns<R>(swaps, v_, v_rows_, i, end);
      }
      d_[end] = low_value;
    }
  }

  int64_t n_;
  V *d_, *e_;
  Turns u_turns_, v_turns_;
  View<N> u_, v_;
  int64_t u_rows_, v_rows_;
  V negligible_, largest_, least_;  // the latter two of the block
  // Of each lane: the rows up to `last_` are not done; all are in reverse (all bits, or none), from
  // the end that is smaller; and the rows of the block that is at work, and that a step was of.
  Mask<R> last_, reversed_, low_, high_, old_first_, old_last_;
};

}  // namespace
}  // namespace tercel::linalg::lanes
