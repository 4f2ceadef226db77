// sine, cosine, tan: of the angle less the nearest multiple of pi. Multiples of pi are taken off in
// three parts while there are few of them, with the bits of 1/pi in integers (Payne and Hanek)
// beyond. In f64 what is left keeps the bits that it rounds away, and so does the series' largest
// term: the result errs by little more than its rounding, so 1 - cos(x) and the like are what others
// find.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// Up to here the errors of k * pi's third part and of x / pi do not show.
template <class B>
inline constexpr double kSmallAngle = Format<B>::kIsF64 ? 0x1p30 : 0x1p16;

// An angle, and in f64 what it rounds away; f32's is as `high`, and not looked at.
template <class B>
struct Angle {
  Real<B> high, low;
};

template <class B>
Mask<B> unsignedLess(Bits<B> x, Bits<B> y) {
  return (x ^ Format<B>::kSign) < (y ^ Format<B>::kSign);
}

// `count` consecutive words of `words` from word `index` on, index < 2^levels.
template <size_t count, class B, size_t total>
std::array<Bits<B>, count> selectWords(Bits<B> index, std::array<Bits<B>, total> words,
                                       int levels) {
  size_t live = total;
  for (int level = levels - 1; level >= 0; --level) {
    size_t step = size_t{1} << level;
    Mask<B> stay = (index & static_cast<int64_t>(step)) == 0;
    size_t needed = count + step - 1;
    for (size_t i = 0; i < needed && i + step < live; ++i) {
      words[i] = select(stay, words[i], words[i + step]);
    }
    live = needed < live ? needed : live;
  }
  std::array<Bits<B>, count> picked;
  for (size_t i = 0; i < count; ++i) picked[i] = words[i];
  return picked;
}

// floor(|x| 2^(2 w - 1) / pi) mod 2^(2 w) in two words of w bits, so that the highest two bits
// count quarter turns; for finite |x| >= 2^16.
template <class B>
std::array<Bits<B>, 2> turns(Real<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  constexpr int w = B::kBits;
  constexpr size_t total = C::inverse_pi.size();
  std::array<Bits<B>, total> words;
  words[0] = {x.b, x.b->constantInt(0)};
  for (size_t i = 1; i < total; ++i) {
    words[i] = words[0].same(static_cast<int64_t>(C::inverse_pi[i - 1]));
  }

  Bits<B> bits = x.bits() & ~F::kSign;
  Bits<B> m = (bits & ((INT64_C(1) << F::kMantissa) - 1)) | (INT64_C(1) << F::kMantissa);
  // x = m 2^E; the window starts at bit E - 1 of 1/pi, bit 0 being the one after the point.
  Bits<B> start = bits.lshr(F::kMantissa) + (w - 1 - F::kBias - F::kMantissa);
  constexpr int log2w = F::kIsF64 ? 6 : 5;
  auto word = selectWords<4>(start.lshr(log2w), words, F::kIsF64 ? 5 : 3);
  Bits<B> shift = start & (w - 1);
  Bits<B> back = (w - 1) - shift;
  std::array<Bits<B>, 3> window = {word[0], word[1], word[2]};
  for (size_t i = 0; i < 3; ++i) {
    window[i] = word[i].shl(shift) | word[i + 1].lshr(1).lshr(back);
  }
  Bits<B> mid_low = umulh(m, window[2]);
  Bits<B> mid = m * window[1] + mid_low;
  Bits<B> carry = select(unsignedLess(mid, mid_low), mid.same(1), mid.same(0));
  return {m * window[0] + umulh(m, window[1]) + carry, mid};
}

// What reduceAngle says, for any finite x; NaN for others. `quarter` is 0, or a float whose bits
// are those of a quarter of 2^kBits; then x is not negative.
template <class B>
Real<B> reduceLargeAngle(Real<B> x, Real<B> quarter) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  constexpr int w = B::kBits;
  constexpr int tail = w - F::kMantissa - 1;  // bits that do not fit a float
  constexpr int64_t tail_mask = (INT64_C(1) << tail) - 1;
  auto [size_high, low] = turns(x);
  Bits<B> high = size_high + quarter.bits();
  // From the nearest multiple of half a turn, in units of 2^-w half turns; one that is odd
  // changes the sign.
  Bits<B> fraction = high.shl(1) | low.lshr(w - 1);
  Bits<B> minus = fraction.ashr(w - 1);
  Bits<B> sign = (high + (INT64_C(1) << (w - 2))) ^ minus ^ x.bits();
  fraction = fraction ^ minus;
  // What does not fit, in units of 2^-(2 w - tail - 1).
  Bits<B> rest = (fraction & tail_mask).shl(w - 1 - tail) | (low ^ minus).shl(1).lshr(tail + 1);
  Real<B> a = fromInt(fraction & ~tail_mask) * (F::kIsF64 ? 0x1p-64 : 0x1p-32);
  Real<B> c = fromInt(rest) * (F::kIsF64 ? 0x1p-116 : 0x1p-55);
  Real<B> s = a + c;
  Real<B> t = c - (s - a);
  Real<B> r = fma(s, C::pi[0], fma(s, C::pi[1], t * C::pi[0]));
  return xorSign(r, fromBits(sign)) + (x - x);
}

// The same for |x| up to kSmallAngle.
template <class B>
Angle<B> reduceSmallAngle(Real<B> x, bool quarter) {
  using C = Coefficients<B::kBits>;
  constexpr double inverse_pi = 1 / 3.14159265358979323846, shifter = Format<B>::kShifter;
  Real<B> shifted = quarter ? fma(x, inverse_pi, 0.5) + shifter : fma(x, inverse_pi, shifter);
  Real<B> k = quarter ? (shifted - shifter) - 0.5 : shifted - shifter;
  // Where it matters the first product cancels: x and k pi[0] are multiples of r's last bit.
  Real<B> a = fma(k, -C::pi[0], x), b = fma(k, -C::pi[1], a), r = fma(k, -C::pi[2], b), low = r;
  if constexpr (Format<B>::kIsF64) {
    Real<B> d = a - b, second = ((a - d) - b) + fma(k, -C::pi[1], d);
    low = (x - fma(k, C::pi[0], a)) + (second + fma(k, -C::pi[2], b - r));
  }
  // -r where the multiple is odd
  auto turned = [&](Real<B> v) {
    return fromBits(v.bits() ^ shifted.bits().shl(B::kBits - 1));
  };
  return {turned(r), turned(low)};
}

template <class B>
Mask<B> isLargeAngle(Real<B> x) {
  return abs(x) > kSmallAngle<B>;
}

// reduceSmallAngle, where few are larger than pi/2 and what is left out is waited for.
template <bool quarter, class B>
Angle<B> reduceByBranch(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> high = x, low = x.same(0);
  if constexpr (quarter) {
    Real<B> near = C::half_pi[0] - abs(x);
    low = ((C::half_pi[0] - near) - abs(x)) + C::half_pi[1];
    high = near + low;
    low = (near - high) + low;
  }
  Mask<B> is_far = abs(x) > C::half_pi[0];
  high = rarely(quarter ? "reduce_quarter" : "reduce_angle", is_far,
                [](Real<B>, Real<B> v) { return reduceSmallAngle(v, quarter).high; }, high, x);
  if constexpr (Format<B>::kIsF64)
    low = rarely(quarter ? "reduce_quarter_low" : "reduce_angle_low", is_far,
                 [](Real<B>, Real<B> v) { return reduceSmallAngle(v, quarter).low; }, low, x);
  return {high, low};
}

// r in [-pi/2, pi/2] with sin r = sin x, or cos x if `quarter`.
template <class B>
Angle<B> reduceAngle(Real<B> x, bool quarter) {
  Real<B> turn = fromBits(x.bits().same(quarter ? INT64_C(1) << (B::kBits - 2) : 0));
  auto reduce = [](Real<B> small, Real<B> v, Real<B> q) {
    return select(isLargeAngle(v), reduceLargeAngle(v, q), small);
  };
  Angle<B> small = !isScalar(*x.b) ? reduceSmallAngle(x, quarter)
                   : quarter       ? reduceByBranch<true>(x)
                                   : reduceByBranch<false>(x);
  Mask<B> is_large = isLargeAngle(x);
  Real<B> high =
      rarely("reduce_large_angle", is_large, reduce, small.high, quarter ? abs(x) : x, turn);
  if constexpr (!Format<B>::kIsF64) return {high, high};
  return {high, select(is_large, x.same(0), small.low)};
}

template <class B>
Real<B> sinReduced(Angle<B> angle) {
  constexpr auto& c = Coefficients<B::kBits>::sin;
  Real<B> r = angle.high, s = r * r;
  if constexpr (!Format<B>::kIsF64) {
    return orSignOf(fma(r * s, polynomial(s, c), r), r);
  } else {
    Real<B> cube = r * s, cube_low = fma(r, s, -cube) + r * fma(r, r, -s);
    Real<B> rest = s * polynomial(s, withoutFirst(c)), p = rest + c[0];
    Real<B> term = cube * p;
    Real<B> term_low = fma(cube, p, -term) + fma(cube, (c[0] - p) + rest, cube_low * p);
    Real<B> slope = fma(s, fma(s, 0.037, -0.497), 1.0);  // about cos r
    Real<B> sum = r + term;
    return orSignOf(sum + ((r - sum) + term + fma(angle.low, slope, term_low)), r);
  }
}

template <class B>
Real<B> sin(Real<B> x) {
  return sinReduced(reduceAngle(x, false));
}

template <class B>
Real<B> cos(Real<B> x) {
  return sinReduced(reduceAngle(x, true));
}

// Of the angles to the nearest multiple of pi and to the nearest odd one of pi/2, the smaller: its
// sine and cosine round less than those of the larger would.
template <class B>
Real<B> tan(Real<B> x) {
  Angle<B> r = reduceAngle(x, false), q = reduceAngle(x, true);
  Mask<B> near_pole = abs(r.high) > abs(q.high);
  Real<B> large = select(near_pole, r.high, q.high);
  Angle<B> small = {select(near_pole, q.high, r.high), select(near_pole, q.low, r.low)};
  Real<B> s = small.high * small.high;
  Real<B> tail = fma(s, polynomial(s, Coefficients<B::kBits>::cos), -0.5);
  Real<B> cosine = fma(s, tail, 1.0);
  if constexpr (Format<B>::kIsF64) {
    Real<B> left = fma(s, tail, 1 - cosine);  // what the sum rounds away
    cosine = cosine + (left - small.low * small.high);
  }
  Real<B> sine = sinReduced(small), other = orSignOf(cosine, large);
  return select(near_pole, other, sine) / select(near_pole, sine, other);
}

template <MathBuilder B>
typename B::V sine(B& b, typename B::V x) {
  return sin(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V cosine(B& b, typename B::V x) {
  return cos(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V tan(B& b, typename B::V x) {
  return tan(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
