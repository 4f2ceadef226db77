#include "runtime/kernels/rescale.h"

#include <algorithm>
#include <array>
#include <bit>

#include "runtime/kernels/isa.h"

namespace tercel::kernels {
namespace {

constexpr uint32_t kNormal = 0x00800000;  // the bits of the smallest normal number
constexpr float kPower = 0x1p24f;         // makes every subnormal number normal
constexpr double kUp = kPower;
constexpr int64_t kGrain = 1 << 15;       // elements, some microseconds

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
  bool canGrow() const { return most < std::bit_cast<uint32_t>(0x1p127f / kPower); }
  bool canShrink() const { return least + 1 >= std::bit_cast<uint32_t>(0x1p-126f * kPower); }
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

// By way of doubles, which have the range, so that nothing takes microcode.
inline void scaleIn(const float* from, float* to, int64_t count, double factor) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(static_cast<double>(from[i]) * factor);
}

struct Functions {
  Magnitudes (*magnitudes)(const float* x, int64_t count);
  void (*scale)(const float* from, float* to, int64_t count, double factor);
};

#if defined(__x86_64__)
[[gnu::target("avx2")]] Magnitudes magnitudesAvx2(const float* x, int64_t count) {
  return magnitudesIn(x, count);
}
[[gnu::target("avx2")]] void scaleAvx2(const float* from, float* to, int64_t count, double factor) {
  scaleIn(from, to, count, factor);
}
#endif

Functions functions() {
#if defined(__x86_64__)
  if (chosenIsa() >= Isa::avx2) return {magnitudesAvx2, scaleAvx2};
#endif
  return {magnitudesIn, scaleIn};
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

double productOf(const Magnitudes& a, const Magnitudes& b) {
  return static_cast<double>(std::bit_cast<float>(a.most)) *
         static_cast<double>(std::bit_cast<float>(b.most));
}

// Whether sums of products stay in range where both factors are multiplied. NaN compares so, too.
bool canBothGrow(const Magnitudes& a, const Magnitudes& b, int64_t terms) {
  return productOf(a, b) * static_cast<double>(terms) < 0x1p126 / (kUp * kUp);
}

}  // namespace

bool rescale(const float* a, int64_t a_count, const float* b, int64_t b_count, bool sums,
             Rescaled& copies, const Parallel& parallel) {
  constexpr int64_t kFew = 256;  // one in so many costs no more than the copies do
  const Magnitudes in_a = magnitudesOf(a, a_count, parallel);
  const Magnitudes in_b = magnitudesOf(b, b_count, parallel);
  const bool a_has = in_a.subnormal * kFew >= a_count, b_has = in_b.subnormal * kFew >= b_count;
  const bool a_grows = a_has && in_a.canGrow() && in_b.canShrink();
  const bool b_grows = b_has && in_b.canGrow() && in_a.canShrink();
  const bool any = a_has || b_has || productOf(in_a, in_b) < 0x1p-100;
  const bool both = sums && !a_grows && !b_grows && any &&
                    canBothGrow(in_a, in_b, std::min(a_count, b_count));
  if (!a_grows && !b_grows && !both) return false;
  if (!copies.a.tryTake(a_count) || !copies.b.tryTake(b_count)) return false;
  scale(a, copies.a.get(), a_count, a_grows || both ? kUp : 1 / kUp, parallel);
  scale(b, copies.b.get(), b_count, a_grows ? 1 / kUp : kUp, parallel);
  if (both) copies.sums = 1 / (kUp * kUp);
  return true;
}

void scaleSums(float* x, int64_t count, double factor, const Parallel& parallel) {
  scale(x, x, count, factor, parallel);
}

}  // namespace tercel::kernels
