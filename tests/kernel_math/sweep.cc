// math_sweep [function...]: every f32 input of each unary function through the AVX-512 builder,
// with the optional hooks and without, against libmvec in f64; and the time of a call. Prints the
// table of docs/math.md, and fails where an error is larger than functions.def allows.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "compiler/kernel/math/math.h"
#include "tests/kernel_math/avx512_builder.h"
#include "tests/kernel_math/oracle.h"
#include "tests/kernel_math/scalar_builder.h"

#define UNARY(name, libm, limit32, limit64) extern "C" __m512d _ZGVeN8v_##libm(__m512d);
#define _ZGVeN8v_sqrt tercel_vsqrt
#define _ZGVeN8v_rsqrt tercel_vrsqrt
#define _ZGVeN8v_logistic tercel_vlogistic
#define _ZGVeN8v_erf_inv tercel_verf_inv
#define _ZGVeN8v_lgamma tercel_vlgamma
#define _ZGVeN8v_digamma tercel_vdigamma
#define _ZGVeN8v_i0e tercel_vi0e
#define _ZGVeN8v_i1e tercel_vi1e
#include "tests/kernel_math/functions.def"

extern "C" __m512d tercel_vsqrt(__m512d x) { return _mm512_sqrt_pd(x); }
extern "C" __m512d tercel_vrsqrt(__m512d x) { return _mm512_set1_pd(1) / _mm512_sqrt_pd(x); }
extern "C" __m512d tercel_vlogistic(__m512d x) {
  return _mm512_set1_pd(1) / (_mm512_set1_pd(1) + _ZGVeN8v_exp(-x));
}

template <class F>
__m512d laneByLane(F f, __m512d x) {
  for (int i = 0; i < 8; ++i) x[i] = f(x[i]);
  return x;
}
#define LANE_BY_LANE(libm)                                                                \
  extern "C" __m512d tercel_v##libm(__m512d x) {                                          \
    return laneByLane([](double lane) { return tercel::math::oracle::libm(lane); }, x); \
  }
LANE_BY_LANE(erf_inv)
LANE_BY_LANE(lgamma)
LANE_BY_LANE(digamma)
LANE_BY_LANE(i0e)
LANE_BY_LANE(i1e)
#undef LANE_BY_LANE

namespace tercel::math {
namespace {

using Hooked = Avx512Builder<Avx512Float, true>;
using Plain = Avx512Builder<Avx512Float, false>;

struct Worst {
  double ulp = 0;
  float at = 0;
  void take(double error, float x) {
    if (error > ulp) ulp = error, at = x;
  }
};

struct Function {
  const char* name;
  __m512 (*hooked)(__m512);
  __m512 (*plain)(__m512);
  __m512d (*want)(__m512d);
  double (*nanoseconds)(int kind);  // an element: 0 f32 hooked, 1 f32 plain, 2 f64 hooked
  double limit;                     // most ULP
  oracle::TermSize<double> term_size;
};

// The errors of 8 lanes where everything is finite and normal, else lane by lane.
void compare(__m256 x, __m256 got, __m512d want, oracle::TermSize<double> term_size,
             Worst& worst) {
  __m512d wide = _mm512_cvtps_pd(got);
  __m512d size = _mm512_abs_pd(want);
  __mmask8 plain = _mm512_cmp_pd_mask(size, _mm512_set1_pd(0x1p-125), _CMP_GE_OQ) &
                   _mm512_cmp_pd_mask(size, _mm512_set1_pd(0x1p127), _CMP_LT_OQ) &
                   _mm512_cmp_pd_mask(_mm512_abs_pd(wide), _mm512_set1_pd(INFINITY), _CMP_LT_OQ);
  if (plain == 0xff) {
    __m512d error = _mm512_abs_pd(wide - want);
    __m512d ulp = _mm512_scalef_pd(_mm512_set1_pd(0x1p-23), _mm512_getexp_pd(size));
    __m512d relative = error / ulp;
    if (_mm512_cmp_pd_mask(relative, _mm512_set1_pd(worst.ulp), _CMP_GT_OQ) == 0) return;
  }
  alignas(64) double wants[8];
  alignas(32) float gots[8], xs[8];
  _mm512_store_pd(wants, want);
  _mm256_store_ps(gots, got);
  _mm256_store_ps(xs, x);
  for (int i = 0; i < 8; ++i)
    worst.take(oracle::ulpError(gots[i], wants[i], term_size(xs[i])), xs[i]);
}

void compareBoth(__m512 x, __m512 got, __m512d low, __m512d high,
                 oracle::TermSize<double> term_size, Worst& worst) {
  compare(_mm512_castps512_ps256(x), _mm512_castps512_ps256(got), low, term_size, worst);
  compare(_mm512_extractf32x8_ps(x, 1), _mm512_extractf32x8_ps(got, 1), high, term_size, worst);
}

// Over an array that stays in the first-level cache, as a kernel's loop would run it: of evenly
// spaced numbers from 0.1 up, or in no order between -1 and 1.
template <class T, class V, V (*f)(V), bool in_unit = false>
[[gnu::flatten, gnu::noinline]] double nanosecondsPerElement() {
  constexpr int count = 2048, lanes = sizeof(V) / sizeof(T);
  alignas(64) static T in[count], out[count];
  for (int i = 0; i < count; ++i)
    in[i] = in_unit ? (T(i * 1021 % count) + T(0.5)) / T(count / 2) - 1 : T(0.1) + T(i) * T(1e-3);
  double best = 1e9;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; i += lanes) {
      *reinterpret_cast<V*>(out + i) = f(*reinterpret_cast<const V*>(in + i));
    }
    __asm__ volatile("" : : : "memory");
    auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double, std::nano>(end - begin).count());
  }
  return best / count;
}

// Whether all errors are within the limit.
bool sweep(const Function& f, bool all, bool positive) {
  Worst hooked, plain;
  __m512i offsets = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const uint64_t stride = all ? 16 : 16 * 1009;
  const uint64_t end = positive ? 1ull << 31 : 1ull << 32;
  for (uint64_t base = 0; base < end; base += stride) {
    __m512i bits = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int32_t>(base)), offsets);
    __m512 x = _mm512_castsi512_ps(bits);
    __m512d low = f.want(_mm512_cvtps_pd(_mm512_castps512_ps256(x)));
    __m512d high = f.want(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)));
    compareBoth(x, f.hooked(x), low, high, f.term_size, hooked);
    compareBoth(x, f.plain(x), low, high, f.term_size, plain);
  }
  double fast = f.nanoseconds(0), slow = f.nanoseconds(1), wide = f.nanoseconds(2);
  std::printf("| `%s` | %.2f | %.2f | %.2f | %.2f | %.2f |  <!-- %a %a -->\n", f.name, hooked.ulp,
              plain.ulp, fast, slow, wide, static_cast<double>(hooked.at),
              static_cast<double>(plain.at));
  std::fflush(stdout);
  return hooked.ulp <= f.limit && plain.ulp <= f.limit;
}

#define UNARY(name, libm, limit32, limit64)                                           \
  [[gnu::flatten]] __m512 hooked_##name(__m512 x) {                                   \
    Hooked b;                                                                         \
    return name(b, x);                                                                \
  }                                                                                   \
  [[gnu::flatten]] __m512 plain_##name(__m512 x) {                                    \
    Plain b;                                                                          \
    return name(b, x);                                                                \
  }                                                                                   \
  [[gnu::flatten]] __m512d wide_##name(__m512d x) {                                   \
    Avx512Builder<Avx512Double, true> b;                                              \
    return name(b, x);                                                                \
  }                                                                                   \
  double nanoseconds_##name(int kind) {                                               \
    constexpr bool unit = std::string_view(#name) == "erf_inv";                       \
    return kind == 0   ? nanosecondsPerElement<float, __m512, hooked_##name, unit>()  \
           : kind == 1 ? nanosecondsPerElement<float, __m512, plain_##name, unit>()   \
                       : nanosecondsPerElement<double, __m512d, wide_##name, unit>(); \
  }
#include "tests/kernel_math/functions.def"

const Function kFunctions[] = {
#define UNARY(name, libm, limit32, limit64) \
  {#name, hooked_##name, plain_##name, _ZGVeN8v_##libm, nanoseconds_##name, limit32,\
   oracle::termSizeOf<double>(#name)},
#include "tests/kernel_math/functions.def"
};

#define BINARY(name, second)                                                        \
  template <class B>                                                                \
  [[gnu::flatten]] typename B::V name##Of(typename B::V x) {                        \
    B b;                                                                            \
    return name(b, x, b.constant(second));                                          \
  }                                                                                 \
  void time_##name() {                                                              \
    using Wide = Avx512Builder<Avx512Double, true>;                                 \
    double hooked = nanosecondsPerElement<float, __m512, name##Of<Hooked>>();       \
    double plain = nanosecondsPerElement<float, __m512, name##Of<Plain>>();         \
    double wide = nanosecondsPerElement<double, __m512d, name##Of<Wide>>();         \
    std::printf("| `%s` | | | %.2f | %.2f | %.2f |\n", #name, hooked, plain, wide); \
  }
BINARY(atan2, 0.7)
BINARY(power, 1.7)
BINARY(remainder, 0.37)
#undef BINARY

}  // namespace
}  // namespace tercel::math

int main(int argc, char** argv) {
  bool all = false, positive = false;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--all") {
      all = true;
    } else if (argument == "--positive") {
      positive = true;
    } else {
      names.push_back(argument);
    }
  }
  bool within = true;
  for (const auto& f : tercel::math::kFunctions) {
    bool chosen = names.empty() || std::find(names.begin(), names.end(), f.name) != names.end();
    if (chosen) within &= tercel::math::sweep(f, all, positive);
  }
  if (names.empty()) {
    tercel::math::time_atan2();
    tercel::math::time_power();
    tercel::math::time_remainder();
  }
  return within ? 0 : 1;
}
