#include "runtime/kernels/rescale.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "runtime/kernels/isa.h"

namespace tercel::kernels {
namespace {

constexpr int kMantissa = 23, kBias = 127;
constexpr uint32_t kNormal = 1u << kMantissa;  // the bits of the smallest normal number
constexpr int kUp = 24;  // a power of two that makes every subnormal number normal
constexpr int64_t kGrain = 1 << 15;  // elements, some microseconds

// Of the bits of the absolute values.
struct Magnitudes {
  uint32_t most = 0;
  uint32_t least = ~0u;  // of those that are not 0, less 1
  int64_t subnormal = 0;

  void join(const Magnitudes& other) {
    most = std::max(most, other.most);
    least = std::min(least, other.least);
    subnormal += other.subnormal;
  }
  bool canGrow() const { return most < std::bit_cast<uint32_t>(0x1p103f); }
  bool canShrink() const { return least + 1 >= std::bit_cast<uint32_t>(0x1p-102f); }
  double largest() const { return std::bit_cast<float>(most); }
  // The power of two by which the largest becomes one that products of two and their sums allow.
  int growth() const {
    constexpr int kLargest = 50, kMost = 100;
    return std::clamp(kLargest + kBias - static_cast<int>(most >> kMantissa), kUp, kMost);
  }
};

inline Magnitudes magnitudesIn(const float* x, int64_t count) {
  Magnitudes found;
  uint32_t subnormal = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffff;
    found.most = std::max(found.most, bits);
    found.least = std::min(found.least, bits - 1);
    subnormal += bits - 1 < kNormal - 1;
  }
  found.subnormal = subnormal;
  return found;
}

// x * 2^power, finite and not subnormal, without arithmetic on subnormal numbers: these count the
// smallest of them.
inline void growIn(const float* from, float* to, int64_t count, int power) {
  const float of_least = std::ldexp(1.0f, power - kBias - kMantissa + 1);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(from[i]), size = bits & 0x7fffffff;
    const float counted = static_cast<float>(static_cast<int32_t>(size)) * of_least;
    const uint32_t tiny = std::bit_cast<uint32_t>(counted) | (bits ^ size);
    const uint32_t normal = bits + (static_cast<uint32_t>(power) << kMantissa);
    const uint32_t is_tiny = -static_cast<uint32_t>(size < kNormal);  // no branch: in vectors
    to[i] = std::bit_cast<float>((tiny & is_tiny) | (normal & ~is_tiny));
  }
}

// Rounded once. By way of doubles, which have the range, so that nothing takes microcode.
inline void scaleIn(const float* from, float* to, int64_t count, double factor) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(static_cast<double>(from[i]) * factor);
}

struct Functions {
  Magnitudes (*magnitudes)(const float* x, int64_t count);
  void (*grow)(const float* from, float* to, int64_t count, int power);
  void (*scale)(const float* from, float* to, int64_t count, double factor);
};

#if defined(__x86_64__)
#define TERCEL_RESCALE(isa, march)                                                          \
  [[gnu::target(march)]] Magnitudes magnitudes##isa(const float* x, int64_t count) {        \
    return magnitudesIn(x, count);                                                          \
  }                                                                                         \
  [[gnu::target(march)]] void grow##isa(const float* from, float* to, int64_t count,        \
                                        int power) {                                        \
    growIn(from, to, count, power);                                                         \
  }                                                                                         \
  [[gnu::target(march)]] void scale##isa(const float* from, float* to, int64_t count,       \
                                         double factor) {                                   \
    scaleIn(from, to, count, factor);                                                       \
  }
TERCEL_RESCALE(Avx2, "avx2")
TERCEL_RESCALE(Avx512, "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#undef TERCEL_RESCALE
#endif

Functions functions() {
#if defined(__x86_64__)
  if (chosenIsa() >= Isa::avx512) return {magnitudesAvx512, growAvx512, scaleAvx512};
  if (chosenIsa() >= Isa::avx2) return {magnitudesAvx2, growAvx2, scaleAvx2};
#endif
  return {magnitudesIn, growIn, scaleIn};
}

// f(first, count, part) for at most kParts parts of so many elements.
constexpr int64_t kParts = 16;
template <class F>
void inParts(int64_t count, const Parallel& parallel, F&& f) {
  const int64_t length = std::max(kGrain, (count + kParts - 1) / kParts);
  parallel.forEach((count + length - 1) / length, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      f(part * length, std::min(length, count - part * length), part);
  });
}

Magnitudes magnitudesOf(const float* x, int64_t count, const Parallel& parallel) {
  std::array<Magnitudes, kParts> parts;
  const auto magnitudes = functions().magnitudes;
  inParts(count, parallel, [&](int64_t first, int64_t n, int64_t part) {
    parts[static_cast<size_t>(part)] = magnitudes(x + first, n);
  });
  Magnitudes all;
  for (const Magnitudes& part : parts) all.join(part);
  return all;
}

void scale(const float* from, float* to, int64_t count, double factor, const Parallel& parallel) {
  const auto scale_part = functions().scale;
  inParts(count, parallel, [&](int64_t first, int64_t n, int64_t) {
    scale_part(from + first, to + first, n, factor);
  });
}

// By a power of two. What becomes less is finite or not, but nowhere near subnormal.
void copyTimes(int power, const float* from, float* to, int64_t count, const Parallel& parallel) {
  if (power < 0) return scale(from, to, count, std::ldexp(1, power), parallel);
  const auto grow = functions().grow;
  inParts(count, parallel, [&](int64_t first, int64_t n, int64_t) {
    grow(from + first, to + first, n, power);
  });
}

// Whether sums of products stay in range where both factors are multiplied. NaN compares so, too.
bool canBothGrow(const Magnitudes& a, const Magnitudes& b, int64_t terms) {
  const double most = a.largest() * b.largest() * static_cast<double>(terms);
  return std::ldexp(most, a.growth() + b.growth()) < 0x1p126;
}

}  // namespace

bool rescale(const float* a, int64_t a_count, const float* b, int64_t b_count, bool sums,
             Rescaled& copies, const Parallel& parallel) {
  constexpr int64_t kFew = 256;  // one in so many costs no more than the copies do
  const Magnitudes in_a = magnitudesOf(a, a_count, parallel);
  const Magnitudes in_b = magnitudesOf(b, b_count, parallel);
  const bool a_has = in_a.subnormal * kFew >= a_count, b_has = in_b.subnormal * kFew >= b_count;
  const bool any = a_has || b_has || in_a.largest() * in_b.largest() < 0x1p-100;
  const bool both = sums && any && canBothGrow(in_a, in_b, std::min(a_count, b_count));
  const bool a_grows = !both && a_has && in_a.canGrow() && in_b.canShrink();
  const bool b_grows = !both && b_has && in_b.canGrow() && in_a.canShrink();
  if (!a_grows && !b_grows && !both) return false;
  if (!copies.a.tryTake(a_count) || !copies.b.tryTake(b_count)) return false;
  const int power_of_a = both ? in_a.growth() : a_grows ? kUp : -kUp;
  const int power_of_b = both ? in_b.growth() : -power_of_a;
  copyTimes(power_of_a, a, copies.a.get(), a_count, parallel);
  copyTimes(power_of_b, b, copies.b.get(), b_count, parallel);
  if (both) copies.sums = std::ldexp(1, -power_of_a - power_of_b);
  return true;
}

void scaleSums(float* x, int64_t count, double factor, const Parallel& parallel) {
  scale(x, x, count, factor, parallel);
}

}  // namespace tercel::kernels
