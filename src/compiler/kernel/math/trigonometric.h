// sine, cosine, tan: reduction by multiples of pi (of pi/2 for tan) in three parts while the
// multiple is small, with the bits of 1/pi in integers (Payne and Hanek) beyond.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// x = (n + offset) unit + r, unit = pi or pi/2; bit 0 of `n` is right.
template <class B>
struct AngleReduction {
  Bits<B> n;
  Real<B> r;
};

// Up to here k * parts[2]'s error and k's rounding do not show.
template <class B>
inline constexpr double kSmallAngle = Format<B>::kIsF64 ? 0x1p30 : 0x1p16;

template <class B, size_t n>
Real<B> subtractMultiple(Real<B> x, Real<B> k, const std::array<double, n>& parts) {
  // The first product cancels exactly: both x and k parts[0] are multiples of the last bit of r.
  return fma(k, -parts[2], fma(k, -parts[1], fma(k, -parts[0], x)));
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

// floor(x 2^(2 w - 1) / unit) mod 2^(2 w) for finite |x| >= 2^16: two words of w bits, the highest
// bit the parity of the integer part.
template <class B>
std::array<Bits<B>, 2> turns(Real<B> x, bool half_unit) {
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
  Bits<B> start = bits.lshr(F::kMantissa) + (w - 1 + half_unit - F::kBias - F::kMantissa);
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

// The reduction of any finite x that is not small; `half` asks for offset 1/2.
template <class B, size_t n>
AngleReduction<B> reduceLarge(Real<B> x, bool half_unit, bool half,
                              const std::array<double, n>& parts) {
  using F = Format<B>;
  constexpr int w = B::kBits;
  constexpr int tail = w - F::kMantissa - 1;  // bits that do not fit a float
  auto [high, low] = turns(x, half_unit);
  const int64_t half_turn = INT64_C(1) << (w - 2);
  if (half) high = high - half_turn;
  Bits<B> parity = (high + half_turn).lshr(w - 1);  // of the nearest integer
  Bits<B> fraction = high.shl(1) | low.lshr(w - 1);
  const int64_t tail_mask = (INT64_C(1) << tail) - 1;
  Bits<B> rest = (fraction & tail_mask).shl(w - 1 - tail) | low.shl(1).lshr(tail + 1);
  const double unit = F::kIsF64 ? 0x1p-64 : 0x1p-32;
  const double rest_unit = F::kIsF64 ? 0x1p-116 : 0x1p-55;
  Real<B> a = fromInt(fraction & ~tail_mask) * unit;
  Real<B> c = fromInt(rest) * rest_unit;
  Real<B> s = a + c;
  Real<B> t = c - (s - a);
  Real<B> r = fma(s, parts[0], fma(s, parts[1], t * parts[0]));
  // The angle of |x|; -x has the opposite r, and n and -n have one parity.
  return {parity, r};
}

template <class B>
Real<B> sinOfReduced(Real<B> r, Bits<B> n) {
  Real<B> s = r * r;
  Real<B> y = fma(r * s, polynomial(s, Coefficients<B::kBits>::sin), r);
  return fromBits(y.bits() ^ n.shl(B::kBits - 1));
}

template <class B>
Real<B> sin(Real<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  Real<B> shifted = fma(x, 1 / 3.14159265358979323846, F::kShifter);
  Real<B> r = subtractMultiple(x, shifted - F::kShifter, C::pi);
  // r's sign is the result's before the parity; it keeps -0.
  Real<B> s = r * r;
  Real<B> y = orSignOf(fma(r * s, polynomial(s, C::sin), r), r);
  y = fromBits(y.bits() ^ shifted.bits().shl(B::kBits - 1));
  Real<B> size = abs(x);
  return rarelyReal(size > kSmallAngle<B>, y, [&] {
    auto [n, large] = reduceLarge(x, false, false, C::pi);
    return xorSign(sinOfReduced(large, n), x) + (x - x);
  });
}

template <class B>
Real<B> cos(Real<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  // cos x = sin(pi/2 - x), with x = (n + 1/2) pi - r.
  Real<B> shifted = fma(x, 1 / 3.14159265358979323846, -0.5) + F::kShifter;
  Real<B> k = (shifted - F::kShifter) + 0.5;
  Real<B> y = sinOfReduced(subtractMultiple(-x, -k, C::pi), shifted.bits());
  return rarelyReal(abs(x) > kSmallAngle<B>, y, [&] {
    auto [n, large] = reduceLarge(x, false, true, C::pi);
    return sinOfReduced(-large, n) + (x - x);
  });
}

// tan r where n is even, -1 / tan r where it is odd.
template <class B>
Real<B> tanOfReduced(Real<B> r, Bits<B> n) {
  using C = Coefficients<B::kBits>;
  Real<B> s = r * r;
  Real<B> sine = orSignOf(fma(r * s, polynomial(s, C::sin_quarter), r), r);
  Real<B> cosine = fma(s * s, polynomial(s, C::cos_quarter), fma(s, -0.5, 1.0));
  Mask<B> even = (n & 1) == 0;
  return select(even, sine, cosine) / select(even, cosine, -sine);
}

template <class B>
Real<B> tan(Real<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  Real<B> shifted = fma(x, 2 / 3.14159265358979323846, F::kShifter);
  Real<B> r = subtractMultiple(x, shifted - F::kShifter, C::half_pi);
  Real<B> y = tanOfReduced(r, shifted.bits());
  return rarelyReal(abs(x) > kSmallAngle<B>, y, [&] {
    auto [n, large] = reduceLarge(x, true, false, C::half_pi);
    return xorSign(tanOfReduced(large, n), x) + (x - x);
  });
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
