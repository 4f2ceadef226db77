// sine, cosine, tan: reduction by multiples of pi/2 in three parts while the multiple is small,
// with the bits of 1/pi in integers (Payne and Hanek) beyond.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// x = n pi/2 + r; the two low bits of n are right.
template <class B>
struct AngleReduction {
  Bits<B> n;
  Real<B> r;
};

// Up to here k * parts[2]'s error and k's rounding do not show.
template <class B>
inline constexpr double kSmallAngle = Format<B>::kIsF64 ? 0x1p30 : 0x1p16;

template <class B>
AngleReduction<B> reduceSmall(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> shifted = fma(x, 2 / 3.14159265358979323846, Format<B>::kShifter);
  Real<B> k = shifted - Format<B>::kShifter;
  // The first product cancels exactly: x and k half_pi[0] are multiples of r's last bit.
  Real<B> r = fma(k, -C::half_pi[1], fma(k, -C::half_pi[0], x));
  return {shifted.bits(), fma(k, -C::half_pi[2], r)};
}

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

// The reduction of any finite x that is not small; r is NaN for infinite x.
template <class B>
AngleReduction<B> reduceLarge(Real<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  constexpr int w = B::kBits;
  constexpr int tail = w - F::kMantissa - 1;  // bits that do not fit a float
  constexpr int64_t tail_mask = (INT64_C(1) << tail) - 1;
  auto [high, low] = turns(x);
  Bits<B> n = (high + (INT64_C(1) << (w - 3))).lshr(w - 2);  // of the nearest integer
  // Signed, in units of 2^-w quarter turns; then what does not fit, in units of 2^-(2 w - tail -
  // 1).
  Bits<B> fraction = high.shl(2) | low.lshr(w - 2);
  Bits<B> rest = (fraction & tail_mask).shl(w - 1 - tail) | low.shl(2).lshr(tail + 1);
  Real<B> a = fromInt(fraction & ~tail_mask) * (F::kIsF64 ? 0x1p-64 : 0x1p-32);
  Real<B> c = fromInt(rest) * (F::kIsF64 ? 0x1p-116 : 0x1p-55);
  Real<B> s = a + c;
  Real<B> t = c - (s - a);
  Real<B> r = fma(s, C::half_pi[0], fma(s, C::half_pi[1], t * C::half_pi[0]));
  Bits<B> minus = x.bits().ashr(w - 1);
  return {(n ^ minus) - minus, xorSign(r, x) + (x - x)};
}

// f of x's reduction. A builder without `rarely` selects between the reductions, to evaluate f
// once.
template <class B, class F>
Real<B> ofAngle(Real<B> x, F&& f) {
  Mask<B> large = abs(x) > kSmallAngle<B>;
  AngleReduction<B> small = reduceSmall(x);
  if constexpr (requires { x.b->rarely(large.m, x.v, [&] { return x.v; }); }) {
    return rarelyReal(large, f(small), [&] { return f(reduceLarge(x)); });
  } else {
    AngleReduction<B> any = reduceLarge(x);
    return f(AngleReduction<B>{select(large, any.n, small.n), select(large, any.r, small.r)});
  }
}

template <class B>
Real<B> sinQuarter(Real<B> r) {
  Real<B> s = r * r;
  return orSignOf(fma(r * s, polynomial(s, Coefficients<B::kBits>::sin), r), r);
}

template <class B>
Real<B> cosQuarter(Real<B> r) {
  Real<B> s = r * r;
  return fma(s * s, polynomial(s, Coefficients<B::kBits>::cos), fma(s, -0.5, 1.0));
}

template <class B>
Real<B> sinReduced(AngleReduction<B> x) {
  Real<B> y = select((x.n & 1) == 0, sinQuarter(x.r), cosQuarter(x.r));
  return fromBits(y.bits() ^ (x.n & 2).shl(B::kBits - 2));
}

template <class B>
Real<B> tanReduced(AngleReduction<B> x) {
  Mask<B> even = (x.n & 1) == 0;
  Real<B> s = sinQuarter(x.r), c = cosQuarter(x.r);
  return select(even, s, c) / select(even, c, -s);
}

template <class B>
Real<B> sin(Real<B> x) {
  return ofAngle(x, [](AngleReduction<B> a) { return sinReduced(a); });
}

template <class B>
Real<B> cos(Real<B> x) {  // the sine, a quarter turn on
  return ofAngle(x, [](AngleReduction<B> a) {
    return sinReduced(AngleReduction<B>{a.n + 1, a.r});
  });
}

template <class B>
Real<B> tan(Real<B> x) {
  return ofAngle(x, [](AngleReduction<B> a) { return tanReduced(a); });
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
