#include "compiler/kernel/exact_inverse.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tercel::kernel {
namespace {

using Wide = unsigned __int128;

constexpr int kMostApart = 8;  // an error's bound: middle * C - X * 2^k, of integers below

// Of an odd number, modulo 2^128 (Newton).
Wide inverseOfOdd(Wide odd) {
  Wide x = odd;
  for (int bits = 3; bits < 128; bits *= 2) x *= 2 - odd * x;
  return x;
}

// Of a divisor C, an integer of `bits` bits: whether fma(X, high, X * low) is X / C, rounded, for
// each integer X of as many bits.
template <typename T>
bool isExact(Wide c, T high, T low) {
  constexpr int bits = std::numeric_limits<T>::digits;
  int twos = 0;
  while ((c >> twos) % 2 == 0) ++twos;
  const Wide inverse = inverseOfOdd(c >> twos), one = 1;
  const int64_t even = int64_t{1} << twos;
  // X / C = (M + apart / C) / 2^k, where M / 2^k is in the middle of two numbers: it is odd.
  for (int k : {bits, bits + 1})
    for (int64_t apart = -kMostApart; apart <= kMostApart; ++apart) {
      if (apart == 0 || apart % even != 0) continue;
      const Wide period = one << (k - twos);
      Wide middle = static_cast<Wide>(-(apart / even)) * inverse % period;
      for (; middle < one << (bits + 1); middle += period) {
        if (middle < one << bits || middle % 2 == 0) continue;
        const auto x = static_cast<T>((middle * c + static_cast<Wide>(apart)) >> k);
        if (std::fma(x, high, x * low) != x / static_cast<T>(c)) return false;
      }
    }
  return true;
}

}  // namespace

template <typename T>
std::optional<ExactInverse<T>> exactInverse(T divisor) {
  using Limits = std::numeric_limits<T>;
  constexpr int bits = Limits::digits, least = Limits::min_exponent + 2 * bits;
  constexpr int moderate = Limits::max_exponent - 2 * bits;
  if (!std::isfinite(divisor) || divisor == 0) return {};
  int exponent;
  const T fraction = std::frexp(std::abs(divisor), &exponent);
  if (std::abs(exponent) > moderate) return {};
  const T c = std::ldexp(fraction, bits);
  // Rounded to 0, so that `low` has the same sign: both products of an infinity, or a zero, agree.
  T high = 1 / c;
  if (std::fma(high, -c, T{1}) < 0) high = std::nextafter(high, T{0});
  const T low = std::fma(high, -c, T{1}) / c;
  if (!isExact(static_cast<Wide>(c), high, low)) return {};
  const T scale = std::copysign(std::ldexp(T{1}, bits - exponent), divisor);
  return ExactInverse<T>{high * scale, low * scale,
                         std::ldexp(T{1}, std::max(least + exponent, Limits::min_exponent - 1))};
}

template std::optional<ExactInverse<float>> exactInverse(float);
template std::optional<ExactInverse<double>> exactInverse(double);

}  // namespace tercel::kernel
