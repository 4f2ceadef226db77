// The math builder over AVX-512 registers: what a kernel's generated code amounts to. With `hooks`
// it has all optional hooks, without it only the plain operations.
#pragma once
#include <immintrin.h>

#include <array>
#include <cstdint>

#include "compiler/kernel/math/builder.h"

namespace tercel::math {

struct Avx512Float {
  static constexpr int kBits = 32;
  using T = float;
  using V = __m512;
  using I = __m512i;
  using M = __mmask16;
  static constexpr int kLanes = 16;

  V constant(double c) { return _mm512_set1_ps(static_cast<float>(c)); }
  V add(V x, V y) { return _mm512_add_ps(x, y); }
  V sub(V x, V y) { return _mm512_sub_ps(x, y); }
  V mul(V x, V y) { return _mm512_mul_ps(x, y); }
  V div(V x, V y) { return _mm512_div_ps(x, y); }
  V fma(V x, V y, V z) { return _mm512_fmadd_ps(x, y, z); }
  V neg(V x) { return _mm512_xor_ps(x, _mm512_set1_ps(-0.0f)); }
  V abs(V x) { return _mm512_abs_ps(x); }
  V sqrt(V x) { return _mm512_sqrt_ps(x); }
  V trunc(V x) { return _mm512_roundscale_ps(x, 3); }
  V min(V x, V y) { return _mm512_min_ps(x, y); }
  V max(V x, V y) { return _mm512_max_ps(x, y); }
  V select(M m, V x, V y) { return _mm512_mask_blend_ps(m, y, x); }
  V fromBits(I x) { return _mm512_castsi512_ps(x); }
  V fromInt(I x) { return _mm512_cvtepi32_ps(x); }
  M lt(V x, V y) { return _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ); }
  M le(V x, V y) { return _mm512_cmp_ps_mask(x, y, _CMP_LE_OQ); }
  M eq(V x, V y) { return _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ); }
  M ne(V x, V y) { return _mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ); }
  M ieq(I x, I y) { return _mm512_cmpeq_epi32_mask(x, y); }
  M ilt(I x, I y) { return _mm512_cmplt_epi32_mask(x, y); }
  I constantInt(int64_t n) { return _mm512_set1_epi32(static_cast<int32_t>(n)); }
  I bitsOf(V x) { return _mm512_castps_si512(x); }
  I iselect(M m, I x, I y) { return _mm512_mask_blend_epi32(m, y, x); }
  I iadd(I x, I y) { return _mm512_add_epi32(x, y); }
  I isub(I x, I y) { return _mm512_sub_epi32(x, y); }
  I imul(I x, I y) { return _mm512_mullo_epi32(x, y); }
  I umulh(I x, I y) {
    I even = _mm512_srli_epi64(_mm512_mul_epu32(x, y), 32);
    I odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(y, 32));
    return _mm512_mask_blend_epi32(0xaaaa, even, odd);
  }
  I shl(I x, I n) { return _mm512_sllv_epi32(x, n); }
  I lshr(I x, I n) { return _mm512_srlv_epi32(x, n); }
  I ashr(I x, I n) { return _mm512_srav_epi32(x, n); }

  static V scalbImpl(V x, V k) { return _mm512_scalef_ps(x, k); }
  static bool any(M m) { return m != 0; }
};

struct Avx512Double {
  static constexpr int kBits = 64;
  using T = double;
  using V = __m512d;
  using I = __m512i;
  using M = __mmask8;
  static constexpr int kLanes = 8;

  V constant(double c) { return _mm512_set1_pd(c); }
  V add(V x, V y) { return _mm512_add_pd(x, y); }
  V sub(V x, V y) { return _mm512_sub_pd(x, y); }
  V mul(V x, V y) { return _mm512_mul_pd(x, y); }
  V div(V x, V y) { return _mm512_div_pd(x, y); }
  V fma(V x, V y, V z) { return _mm512_fmadd_pd(x, y, z); }
  V neg(V x) { return _mm512_xor_pd(x, _mm512_set1_pd(-0.0)); }
  V abs(V x) { return _mm512_abs_pd(x); }
  V sqrt(V x) { return _mm512_sqrt_pd(x); }
  V trunc(V x) { return _mm512_roundscale_pd(x, 3); }
  V min(V x, V y) { return _mm512_min_pd(x, y); }
  V max(V x, V y) { return _mm512_max_pd(x, y); }
  V select(M m, V x, V y) { return _mm512_mask_blend_pd(m, y, x); }
  V fromBits(I x) { return _mm512_castsi512_pd(x); }
  V fromInt(I x) { return _mm512_cvtepi64_pd(x); }
  M lt(V x, V y) { return _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ); }
  M le(V x, V y) { return _mm512_cmp_pd_mask(x, y, _CMP_LE_OQ); }
  M eq(V x, V y) { return _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ); }
  M ne(V x, V y) { return _mm512_cmp_pd_mask(x, y, _CMP_NEQ_UQ); }
  M ieq(I x, I y) { return _mm512_cmpeq_epi64_mask(x, y); }
  M ilt(I x, I y) { return _mm512_cmplt_epi64_mask(x, y); }
  I constantInt(int64_t n) { return _mm512_set1_epi64(n); }
  I bitsOf(V x) { return _mm512_castpd_si512(x); }
  I iselect(M m, I x, I y) { return _mm512_mask_blend_epi64(m, y, x); }
  I iadd(I x, I y) { return _mm512_add_epi64(x, y); }
  I isub(I x, I y) { return _mm512_sub_epi64(x, y); }
  I imul(I x, I y) { return _mm512_mullo_epi64(x, y); }
  I umulh(I x, I y) {
    const I low = _mm512_set1_epi64(0xffffffff);
    I xh = _mm512_srli_epi64(x, 32), yh = _mm512_srli_epi64(y, 32);
    I ll = _mm512_mul_epu32(x, y), lh = _mm512_mul_epu32(x, yh);
    I hl = _mm512_mul_epu32(xh, y), hh = _mm512_mul_epu32(xh, yh);
    I mid = _mm512_add_epi64(_mm512_add_epi64(_mm512_srli_epi64(ll, 32), _mm512_and_si512(lh, low)),
                             _mm512_and_si512(hl, low));
    hh = _mm512_add_epi64(hh, _mm512_srli_epi64(mid, 32));
    return _mm512_add_epi64(hh,
                            _mm512_add_epi64(_mm512_srli_epi64(lh, 32), _mm512_srli_epi64(hl, 32)));
  }
  I shl(I x, I n) { return _mm512_sllv_epi64(x, n); }
  I lshr(I x, I n) { return _mm512_srlv_epi64(x, n); }
  I ashr(I x, I n) { return _mm512_srav_epi64(x, n); }

  static V scalbImpl(V x, V k) { return _mm512_scalef_pd(x, k); }
  static bool any(M m) { return m != 0; }
};

template <class Base, bool hooks>
struct Avx512Builder : Base {
  using typename Base::I;
  using typename Base::M;
  using typename Base::V;

  I iand(I x, I y) { return _mm512_and_si512(x, y); }
  I ior(I x, I y) { return _mm512_or_si512(x, y); }
  I ixor(I x, I y) { return _mm512_xor_si512(x, y); }
  M maskAnd(M x, M y) { return x & y; }
  M maskOr(M x, M y) { return x | y; }
  M maskNot(M x) { return ~x; }

  static bool hasScalb() { return hooks; }
  V scalb(V x, V k) requires hooks { return Base::scalbImpl(x, k); }
  template <size_t n, class F>
  V rarely(const char*, M m, const std::array<V, n>& v, F&& f) requires hooks {
    return __builtin_expect(Base::any(m), 0) ? f(v) : v[0];
  }
  template <class Cond, class Body>
  V repeatWhile(int bound, V v, Cond&& cond, Body&& body) requires hooks {
    for (int i = 0; i < bound; ++i) {
      M m = cond(v);
      if (!Base::any(m)) break;
      v = this->select(m, body(v), v);
    }
    return v;
  }
};

static_assert(MathBuilder<Avx512Builder<Avx512Float, false>>);
static_assert(MathBuilder<Avx512Builder<Avx512Double, true>>);

}  // namespace tercel::math
