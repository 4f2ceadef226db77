#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/eval/kernel.h"

namespace tercel::eval {
namespace {

using ir::AttrKey;

// Truncates; what does not fit becomes the nearest end of the range, NaN becomes 0.
template <class To>
To floatToInt(double x) {
  using Limits = std::numeric_limits<To>;
  const double end = std::ldexp(1.0, Limits::digits);
  if (std::isnan(x)) return 0;
  if (x >= end) return Limits::max();
  if (x <= static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<To>(x);
}

// The double that rounds to every narrower float as x does: cut to 53 bits, the bits that are lost
// kept in the last one.
template <class From>
double roundedToOdd(From x) {
  bool negative = x < 0;
  uint64_t size = negative ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  constexpr uint64_t kLost = (1 << 11) - 1;
  if (size >> 53) size = (size & ~kLost) | (size & kLost ? kLost + 1 : 0);
  double magnitude = static_cast<double>(size);
  return negative ? -magnitude : magnitude;
}

template <class To, class From>
To convertReal(From x) {
  if constexpr (kIsBool<To>) {
    return widen<std::conditional_t<kIsFloat<From>, double, From>>(x) != 0;
  } else if constexpr (kIsInt<To>) {
    if constexpr (kIsFloat<From>)
      return floatToInt<To>(widen<double>(x));
    else
      return static_cast<To>(x);
  } else if constexpr (kIsHalf<To>) {
    if constexpr (kIsInt<From>)
      return static_cast<To>(roundedToOdd(x));
    else
      return static_cast<To>(widen<double>(x));
  } else {
    return widen<To>(x);
  }
}

// Complex to anything else takes the real part, but for pred: whether any part is not zero.
template <class To, class From>
To convertElement(From x) {
  if constexpr (kIsComplex<From> && kIsComplex<To>)
    return narrow<To>(x);
  else if constexpr (kIsComplex<From> && kIsBool<To>)
    return x != From(0);
  else if constexpr (kIsComplex<From>)
    return convertReal<To>(x.real());
  else if constexpr (kIsComplex<To>)
    return To(convertReal<typename To::value_type>(x));
  else
    return convertReal<To>(x);
}

// Rounds to `mantissa` bits (ties to even), then to infinity above and to zero below the normal
// numbers of an `exponent`-bit format.
template <class T>
T reducePrecision(T x, int64_t exponent, int64_t mantissa) {
  using B = std::conditional_t<sizeof(T) == 2, uint16_t,
                               std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  constexpr int kWidth = sizeof(T) * 8;
  constexpr int kExponent = std::is_same_v<T, Half> ? 5 : sizeof(T) == 8 ? 11 : 8;
  constexpr int kMantissa = kWidth - 1 - kExponent;
  constexpr int64_t kBias = (int64_t{1} << (kExponent - 1)) - 1;
  constexpr B kSign = B(B(1) << (kWidth - 1));
  constexpr B kInfinity = B(((B(1) << kExponent) - 1) << kMantissa);
  B bits = std::bit_cast<B>(x);
  B sign = bits & kSign, size = bits & B(~kSign);
  if (size > kInfinity) return x;
  if (mantissa < kMantissa) {
    int drop = kMantissa - static_cast<int>(mantissa);
    B last = (size >> drop) & 1, half = B(B(1) << (drop - 1));
    size = B(size + half - 1 + last) & B(~((B(1) << drop) - 1));
  }
  if (exponent < kExponent) {
    int64_t bias = (int64_t{1} << (exponent - 1)) - 1;
    int64_t unbiased = int64_t(size >> kMantissa) - kBias;
    if (unbiased > bias) size = kInfinity;
    if (unbiased < 1 - bias) size = 0;
  }
  return std::bit_cast<T>(B(sign | size));
}

}  // namespace

Kernel convertKernel(DType from, DType to) {
  return visitDType(from, [&]<class From>() {
    return visitDType(to, []<class To>() {
      return loop1<From, To>([](From x) { return convertElement<To>(x); });
    });
  });
}

Kernel bitcastKernel(DType from, DType to) {
  if (byteSize(from) != byteSize(to)) return {};
  return [size = byteSize(from)](const void* const* in, void* out, int64_t n) {
    std::memcpy(out, in[0], static_cast<size_t>(n) * size);
  };
}

Kernel reducePrecisionKernel(const KernelRequest& request) {
  int64_t exponent = request.op.integer(AttrKey::exponent_bits);
  int64_t mantissa = request.op.integer(AttrKey::mantissa_bits);
  if (exponent < 1 || mantissa < 0) return {};
  return visitDType(request.operands[0], [&]<class T>() -> Kernel {
    if constexpr (kIsFloat<T>)
      return loop1<T, T>([=](T x) { return reducePrecision(x, exponent, mantissa); });
    else
      return {};
  });
}

}  // namespace tercel::eval
