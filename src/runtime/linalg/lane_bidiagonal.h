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

// A bidiagonal matrix, of the order of 1: the diagonal d, and e above it. The columns of u and v, if
// any, are turned with it. `rotations` has room for 4 n numbers.
template <class T>
class Bidiagonal {
 public:
  using R = RealOf<T>;
  using N = Number<T>;
  using V = Vector<R>;

  Bidiagonal(int64_t size, V* diagonal, V* above, V* rotations, View<N> left, int64_t rows_left,
             View<N> right, int64_t rows_right)
      : n(size), d(diagonal), e(above), u_turns{rotations, rotations + size},
        v_turns{rotations + 2 * size, rotations + 3 * size}, u(left), v(right),
        u_rows(left.data ? rows_left : 0), v_rows(right.data ? rows_right : 0) {}

  // d becomes the singular values, falling. Lanes that have not converged.
  Mask<R> run() {
    constexpr int64_t kMost = 12;  // steps for each value; two or three are usual
    findNegligible();
    last = integers<R>(n - 1);
    old_first = old_last = integers<R>(-1);
    reversed = Mask<R>{};
    for (int64_t steps = kMost * n; findRows(); --steps) {
      if (steps == 0) return last > 0;
      step();
    }
    if (anyOf<R>(reversed)) reverse(reversed);
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
    const V most = all(R(6) * R(n) * (R(n) * Limits<R>::kTiny));
    V mu = absolute(d[0]), least = mu;
    for (int64_t i = 1; i < n; ++i) {
      const V sum = mu + absolute(e[i - 1]);
      mu = absolute(d[i]) * (mu / (sum == 0 ? all(R(1)) : sum));
      least = mu < least ? mu : least;
    }
    negligible = larger(kTolerance * (least / rootOf(R(n))), most);
  }

  void reverse(Mask<R> lanes) const {
    for (int64_t i = 0, j = n - 1; i < j; ++i, --j) {
      exchange<R>(lanes, d[i], d[j]);
      exchange<R>(lanes, e[i], e[j - 1]);
      exchangeColumns<R>(lanes, u, u_rows, i, j);
      exchangeColumns<R>(lanes, v, v_rows, i, j);
    }
  }
  V at(const V* numbers, Mask<R> place) const {
    V x = {};
    for (int64_t k = 0; k < n; ++k) x = place == I(k) ? numbers[k] : x;
    return x;
  }

  // Finds the rows that a step turns, `low` to `high`. False where no lane has any.
  bool findRows() {
    for (;;) {
      const Mask<R> open = last > 0;
      if (!anyOf<R>(open)) return false;
      findBlock(open);
      const Mask<R> done = open & (low == high);
      last += done;
      const Mask<R> several = open & (high - low >= 2);
      Mask<R> again = done;
      if (anyOf<R>(several)) {
        turnAround(several);
        again |= divide(several);
        const Mask<R> is_new = several & ~again;
        old_first = is_new ? (reversed ? I(n - 1) - high : low) : old_first;
        old_last = is_new ? last : old_last;
      }
      if (!anyOf<R>(again)) return true;
    }
  }
  void findBlock(Mask<R> open) {
    low = reversed ? I(n - 1) - last : Mask<R>{};
    high = reversed ? integers<R>(n - 1) : last;
    largest = absolute(at(d, reversed ? low : high));
    Mask<R> searched = open & ~reversed;
    for (int64_t k = n - 2; k >= 0; --k) look(k, searched & (high > I(k)), I(k + 1), low, searched, k);
    searched = open & reversed;
    if (!anyOf<R>(searched)) return;
    for (int64_t k = 0; k + 1 < n; ++k)
      look(k, searched & (low <= I(k)), I(k), high, searched, k + 1);
  }
  // Whether a block ends beside element k, at row `end`; or goes on to row `next`.
  void look(int64_t k, Mask<R> here, I end, Mask<R>& limit, Mask<R>& searched, int64_t next) {
    const V beside = absolute(e[k]), on = absolute(d[next]);
    const Mask<R> stops = here & ~(beside > negligible);
    e[k] = stops ? V{} : e[k];
    limit = stops ? Mask<R>{} + end : limit;
    searched &= ~stops;
    const V both = larger(beside, on);
    largest = (here & ~stops & (both > largest)) ? both : largest;
  }
  // From the end where numbers are larger, as long as it is about the same rows.
  void turnAround(Mask<R> several) {
    const Mask<R> block_first = reversed ? I(n - 1) - high : low;
    const Mask<R> is_other = several & ((block_first > old_last) | (last < old_first));
    if (!anyOf<R>(is_other)) return;
    const V start = absolute(at(d, low)), end = absolute(at(d, high));
    const Mask<R> falls = reversed ? end >= start : start >= end;
    const Mask<R> changes = is_other & (falls == reversed);
    if (!anyOf<R>(changes)) return;
    reverse(changes);
    reversed ^= changes;
    const Mask<R> old = low;
    low = changes ? I(n - 1) - high : low;
    high = changes ? I(n - 1) - old : high;
  }
  // Lanes of which an element above the diagonal became 0.
  Mask<R> divide(Mask<R> several) {
    Mask<R> divided = {}, open = several;
    V mu = {};
    for (int64_t k = 0; k + 1 < n; ++k) {
      const Mask<R> ends = open & (high == I(k + 1));
      const Mask<R> small = ends & (absolute(e[k]) <= kTolerance * absolute(d[k + 1]));
      e[k] = small ? V{} : e[k];
      divided |= small;
    }
    open &= ~divided;
    for (int64_t k = 0; k + 1 < n; ++k) {
      mu = low == I(k) ? absolute(d[k]) : mu;
      least = low == I(k) ? mu : least;
      const Mask<R> here = open & (low <= I(k)) & (high > I(k));
      const V beside = absolute(e[k]);
      const Mask<R> small = here & (beside <= kTolerance * mu);
      e[k] = small ? V{} : e[k];
      divided |= small;
      open &= ~small;
      const V sum = mu + beside;
      mu = here ? absolute(d[k + 1]) * (mu / (sum == 0 ? all(R(1)) : sum)) : mu;
      least = (here & (mu < least)) ? mu : least;
    }
    return divided;
  }
  V shift(V start) const {
    const V digits = R(n) * kTolerance * (least / (largest == 0 ? all(R(1)) : largest));
    constexpr R kFew = kRounding > kTolerance / 100 ? kRounding : kTolerance / 100;
    const V tau = leastOfTwo<R>(at(d, high - 1), at(e, high - 1), at(d, high));
    const V part = tau / (start == 0 ? all(R(1)) : start);
    const Mask<R> none = (digits <= kFew) | ((start > 0) & (part * part < kRounding));
    return none ? V{} : tau;
  }

  // Of lanes with two rows the values; of others one sweep from row `low` to `high`.
  void step() {
    const Mask<R> open = last > 0, is_two = open & (low + 1 == high), sweeps = open & ~is_two;
    int64_t from = 0, to = n - 1;
    while (!anyOf<R>(open & (low <= I(from)))) ++from;
    while (!anyOf<R>(open & (high >= I(to)))) --to;
    V f = {}, g = {}, c = all(R(1)), old_c = c, old_s = {};
    Mask<R> shifted = {};
    if (anyOf<R>(sweeps)) {
      const V start = at(d, low), size = absolute(start), tau = shift(size);
      shifted = tau != 0;
      f = (size - tau) * (withSign<R>(all(R(1)), isNegative<R>(start)) +
                          tau / (start == 0 ? all(R(1)) : start));
      g = at(e, low);
    }
    for (int64_t k = from; k < to; ++k) {
      const Mask<R> turns = sweeps & (low <= I(k)) & (high > I(k));
      u_turns.c[k] = v_turns.c[k] = all(R(1));
      u_turns.s[k] = v_turns.s[k] = V{};
      if (anyOf<R>(turns)) {
        const Mask<R> begins = low == I(k), ends = high == I(k + 1);
        const V here = d[k], above = e[k], next = d[k + 1];
        const Rotation<R> right(shifted ? f : here * c, shifted ? g : above);
        if (k > from) {
          const V size = shifted ? right.size : old_s * right.size;
          e[k - 1] = turns & ~begins ? size : e[k - 1];
        }
        const V rest = right.c * above - right.s * here, below = right.c * next;
        const Rotation<R> left(shifted ? right.c * here + right.s * above : old_c * right.size,
                               right.s * next);
        d[k] = turns ? left.size : here;
        const V end = below * left.c, shifted_above = left.c * rest + left.s * below;
        const V of_next = shifted ? left.c * below - left.s * rest : ends ? end : next;
        d[k + 1] = turns ? of_next : next;
        const V last_above = shifted ? shifted_above : below * left.s;
        e[k] = (turns & ends) ? (absolute(last_above) <= negligible ? V{} : last_above) : e[k];
        if (k + 2 < n) {
          const Mask<R> goes_on = turns & shifted & ~ends;
          g = goes_on ? left.s * e[k + 1] : g;
          e[k + 1] = goes_on ? left.c * e[k + 1] : e[k + 1];
        }
        f = turns ? shifted_above : f;
        c = turns ? right.c : c;
        old_c = turns ? left.c : old_c;
        old_s = turns ? left.s : old_s;
        note(k, turns, left, right);
      }
      const Mask<R> two = is_two & (low == I(k));
      if (anyOf<R>(two)) solveTwo(k, two);
    }
    last = is_two ? last - 2 : last;
    if (u_rows) turnColumns(u, u_rows, from, to, u_turns.c, u_turns.s);
    if (v_rows) turnColumns(v, v_rows, from, to, v_turns.c, v_turns.s);
  }
  // In reverse, the transpose is turned.
  void note(int64_t k, Mask<R> turns, const Rotation<R>& left, const Rotation<R>& right) const {
    u_turns.c[k] = turns ? (reversed ? right.c : left.c) : u_turns.c[k];
    u_turns.s[k] = turns ? (reversed ? right.s : left.s) : u_turns.s[k];
    v_turns.c[k] = turns ? (reversed ? left.c : right.c) : v_turns.c[k];
    v_turns.s[k] = turns ? (reversed ? left.s : right.s) : v_turns.s[k];
  }
  void solveTwo(int64_t k, Mask<R> chosen) const {
    const BidiagonalTwo<R> two(reversed ? d[k + 1] : d[k], e[k], reversed ? d[k] : d[k + 1]);
    d[k] = chosen ? (reversed ? two.second : two.first) : d[k];
    d[k + 1] = chosen ? (reversed ? two.first : two.second) : d[k + 1];
    e[k] = chosen ? V{} : e[k];
    u_turns.c[k] = chosen ? two.left_c : u_turns.c[k];
    u_turns.s[k] = chosen ? withSign<R>(two.left_s, reversed) : u_turns.s[k];
    v_turns.c[k] = chosen ? two.right_c : v_turns.c[k];
    v_turns.s[k] = chosen ? withSign<R>(two.right_s, reversed) : v_turns.s[k];
  }

  // Values become positive, and fall by exchanges of the last one with the least.
  void sort() const {
    for (int64_t k = 0; k < n; ++k) {
      const Mask<R> negative = d[k] < 0;
      d[k] = absolute(d[k]);
      if (!anyOf<R>(negative)) continue;
      const View<N> signs = n == 1 ? u : v;
      for (int64_t i = 0; i < (n == 1 ? u_rows : v_rows); ++i)
        signs(i, k) = pick(negative, N{} - signs(i, k), signs(i, k));
    }
    for (int64_t end = n - 1; end > 0; --end) {
      Mask<R> place = {};
      V low_value = d[0];
      for (int64_t i = 1; i <= end; ++i) {
        const Mask<R> is_less = d[i] <= low_value;
        place = is_less ? integers<R>(i) : place;
        low_value = is_less ? d[i] : low_value;
      }
      for (int64_t i = 0; i < end; ++i) {
        const Mask<R> swaps = place == I(i);
        if (!anyOf<R>(swaps)) continue;
        d[i] = swaps ? d[end] : d[i];
        exchangeColumns<R>(swaps, u, u_rows, i, end);
        exchangeColumns<R>(swaps, v, v_rows, i, end);
      }
      d[end] = low_value;
    }
  }

  int64_t n;
  V *d, *e;
  Turns u_turns, v_turns;
  View<N> u, v;
  int64_t u_rows, v_rows;
  V negligible, largest, least;  // the latter two of the block
  // Of each lane: the rows up to `last` are not done; all are in reverse (all bits, or none), from
  // the end that is smaller; and the rows of the block that is at work, and that a step was of.
  Mask<R> last, reversed, low, high, old_first, old_last;
};

}  // namespace
}  // namespace tercel::linalg::lanes
