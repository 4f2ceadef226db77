// Products of dense matrices on every instruction set of this machine, against sums of products.
#include "runtime/linalg/dense.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "runtime/kernels/isa.h"

namespace tercel::linalg {
namespace {

template <class T>
using Real = typename dense::RealOf<T>::Type;
template <class T>
inline constexpr bool kIsComplex = sizeof(T) > sizeof(Real<T>);

template <class T>
T conjugateIf(bool conjugate, T x) {
  if constexpr (kIsComplex<T>) return conjugate ? std::conj(x) : x;
  return x;
}

template <class T>
class Dense : public testing::Test {
 protected:
  std::mt19937 bits_{7};
  std::normal_distribution<double> normal_;

  std::vector<T> numbers(int64_t count) {
    std::vector<T> values(static_cast<size_t>(count));
    for (T& x : values) {
      if constexpr (kIsComplex<T>) {
        x = T(static_cast<Real<T>>(normal_(bits_)), static_cast<Real<T>>(normal_(bits_)));
      } else {
        x = static_cast<T>(normal_(bits_));
      }
    }
    return values;
  }
  static void expectNear(const std::vector<T>& got, const std::vector<T>& wanted, double terms) {
    const double tolerance = 8 * (terms + 4) * double(std::numeric_limits<Real<T>>::epsilon());
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_LE(std::abs(got[i] - wanted[i]), tolerance * (4 + std::abs(wanted[i]))) << i;
  }
  void product(void (*multiply)(const dense::Product<T>&), int64_t m, int64_t n, int64_t k,
               int form) {
    SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << " as " << form);
    const bool turned_a = form & 1, turned_b = form & 2, lower = form & 4;
    const std::vector<T> a = numbers(m * k), b = numbers(k * n);
    std::vector<T> c = numbers((m + 3) * n), wanted = c;
    std::vector<Real<T>> scratch(static_cast<size_t>(dense::scratchElements(m, n, k, 2)) + 16);
    void* aligned = scratch.data();
    size_t space = scratch.size() * sizeof(Real<T>);
    std::align(64, space - 64, aligned, space);
    dense::Product<T> job{.m = m, .n = n, .k = k};
    job.a = {a.data(), turned_a ? k : 1, turned_a ? 1 : m};
    job.b = {b.data(), turned_b ? n : 1, turned_b ? 1 : k};
    job.conjugate_a = turned_a;
    job.conjugate_b = turned_b;
    job.factor = Real<T>(-0.5);
    job.c = {c.data(), 1, m + 3};
    job.lower = lower;
    job.scratch = aligned;
    multiply(job);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = lower ? j : 0; i < m; ++i) {
        T sum = 0;
        for (int64_t t = 0; t < k; ++t)
          sum += conjugateIf(turned_a, job.a(i, t)) * conjugateIf(turned_b, job.b(t, j));
        wanted[static_cast<size_t>(i + j * (m + 3))] += sum * Real<T>(-0.5);
      }
    expectNear(c, wanted, double(k));
  }

  using OfVector = void (*)(const dense::VectorProduct<T>&);
  void vectorProducts(OfVector plain, OfVector adjoint, OfVector hermitian, int64_t m, int64_t n) {
    SCOPED_TRACE(testing::Message() << m << " x " << n);
    std::vector<T> a = numbers((m + 2) * n);
    const auto element = [&](int64_t i, int64_t j) { return a[size_t(i + j * (m + 2))]; };
    dense::VectorProduct<T> job{.m = m, .n = n, .a = a.data(), .column = m + 2, .factor = 3};
    const std::vector<T> x = numbers(std::max(m, n)), start = numbers(std::max(m, n));
    std::vector<T> y = start, wanted = start;
    job.x = x.data();
    job.y = y.data();
    plain(job);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        wanted[size_t(i)] += element(i, j) * x[size_t(j)] * Real<T>(3);
    expectNear(y, wanted, double(n));
    y = wanted = start;
    adjoint(job);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        wanted[size_t(j)] += conjugateIf(true, element(i, j)) * x[size_t(i)] * Real<T>(3);
    expectNear(y, wanted, double(m));
    if (m != n) return;
    y = wanted = start;
    hermitian(job);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < m; ++j) {
        const T number = i > j    ? element(i, j)
                         : i == j ? T(std::real(element(i, i)))
                                  : conjugateIf(true, element(j, i));
        wanted[size_t(i)] += number * x[size_t(j)] * Real<T>(3);
      }
    expectNear(y, wanted, double(m));
  }

  void reflection(void (*reflect)(const dense::Reflection<T>&), int64_t m, int64_t n) {
    SCOPED_TRACE(testing::Message() << m << " x " << n);
    const std::vector<T> v = numbers(m), tau = numbers(1);
    std::vector<T> c = numbers((m + 1) * n), wanted = c;
    reflect({m, n, v.data(), tau[0], c.data(), m + 1});
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t i = 0; i < m; ++i)
        sum += conjugateIf(true, v[size_t(i)]) * wanted[size_t(i + j * (m + 1))];
      for (int64_t i = 0; i < m; ++i)
        wanted[size_t(i + j * (m + 1))] -= tau[0] * v[size_t(i)] * sum;
    }
    expectNear(c, wanted, double(m) * 8);
  }

  void solution(void (*solve)(const dense::Solution<T>&), int64_t n, int64_t columns, int form) {
    SCOPED_TRACE(testing::Message() << n << " rows of " << columns << " as " << form);
    std::vector<T> l = numbers(n * n), x = numbers(n * columns);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        T& number = l[size_t(i + j * n)];
        number = i == j ? T(2) + number / T(9) : number / T(Real<T>(n));
      }
    const std::vector<T> sides = x;
    dense::Solution<T> job{.rows = n, .columns = columns};
    job.l = {l.data(), form & 1 ? n : 1, form & 1 ? 1 : n};
    job.conjugate = form & 1;
    job.unit = form & 2;
    job.upper = form & 4;
    job.x = {x.data(), form & 8 ? columns : 1, form & 8 ? 1 : n};
    solve(job);
    std::vector<T> got = sides;
    const auto index = [&](int64_t i, int64_t j) { return size_t(&job.x(i, j) - x.data()); };
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < n; ++k) {
          if (job.upper ? k < i : k > i) continue;
          const T number = k == i && job.unit ? T(1) : conjugateIf(job.conjugate, job.l(i, k));
          sum += number * job.x(k, j);
        }
        got[index(i, j)] = sum;
      }
    expectNear(got, sides, double(n) * 8);
  }

  // Of numbers that may be alike, in rows of which the last column may be 0 in all.
  void panel(void (*factor)(const dense::Panel<T>&), int64_t m, int64_t n, int form) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " as " << form);
    const int64_t lead = m + 3;
    std::vector<T> a = numbers(lead * n);
    if (form & 1)
      for (T& x : a) x = std::round(x);
    if (form & 2) std::fill(a.end() - lead, a.end(), T(0));
    std::vector<T> left = a;
    std::vector<T> scratch(static_cast<size_t>(dense::panelElements(m)) + 16);
    void* aligned = scratch.data();
    size_t space = scratch.size() * sizeof(T);
    std::align(64, space - 64, aligned, space);
    std::vector<int32_t> pivots(static_cast<size_t>(n), -1);
    int32_t zero = -1;
    factor({m, n, a.data(), lead, pivots.data(), &zero, aligned});
    bool has_zero = false;
    for (int64_t j = 0; j < n; ++j) has_zero |= a[size_t(j + j * lead)] == 0;
    EXPECT_EQ(zero > 0, has_zero);
    auto at = [&](std::vector<T>& of, int64_t i, int64_t j) -> T& { return of[size_t(i + j * lead)]; };
    for (int64_t j = 0; j < n; ++j) {
      const int64_t pivot = pivots[size_t(j)];
      ASSERT_GE(pivot, j);
      ASSERT_LT(pivot, m);
      for (int64_t k = 0; k < n; ++k) std::swap(at(left, j, k), at(left, pivot, k));
      for (int64_t i = j + 1; i < m; ++i) ASSERT_LE(std::abs(at(a, i, j)), 1 + 1e-6);
    }
    std::vector<T> product = left;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        T& sum = at(product, i, j) = i <= j ? at(a, i, j) : T(0);
        for (int64_t k = 0; k < std::min(i, j + 1); ++k) sum += at(a, i, k) * at(a, k, j);
      }
    expectNear(product, left, double(n) * 4);
  }
};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Dense, Types);

constexpr std::array<int64_t, 3> kProducts[] = {{1, 1, 1},   {5, 3, 2},    {33, 7, 40},
                                                {64, 16, 3}, {70, 41, 19}, {41, 70, 300},
                                                {200, 9, 5}, {7, 520, 4}};

#define FOR_EACH_ISA(test)                                     \
  test(baseline);                                              \
  TERCEL_X86(                                                  \
      if (kernels::isaOfThisMachine() >= kernels::Isa::avx2) { \
        test(avx2);                                            \
      } if (kernels::isaOfThisMachine() >= kernels::Isa::avx512) { test(avx512); })
#ifdef __x86_64__
#define TERCEL_X86(...) __VA_ARGS__
#else
#define TERCEL_X86(...)
#endif

TYPED_TEST(Dense, ProductsOfMatrices) {
  for (auto [m, n, k] : kProducts)
    for (int form = 0; form < 8; ++form) {
#define TEST_PRODUCT(isa) this->product(dense::isa::multiply<TypeParam>, m, n, k, form)
      FOR_EACH_ISA(TEST_PRODUCT)
    }
}

TYPED_TEST(Dense, ProductsWithVectors) {
  for (int64_t m : {1, 3, 8, 17, 40, 67})
    for (int64_t n : {int64_t{1}, int64_t{5}, int64_t{13}, m}) {
#define TEST_VECTORS(isa)                                      \
  this->vectorProducts(dense::isa::multiplyVector<TypeParam>,  \
                       dense::isa::multiplyAdjoint<TypeParam>, \
                       dense::isa::multiplyHermitian<TypeParam>, m, n)
      FOR_EACH_ISA(TEST_VECTORS)
    }
}

TYPED_TEST(Dense, Reflections) {
  constexpr std::pair<int64_t, int64_t> kSizes[] = {{1, 1},  {3, 5},   {16, 4},
                                                    {33, 9}, {100, 2}, {7, 0}};
  for (auto [m, n] : kSizes) {
#define TEST_REFLECTION(isa) this->reflection(dense::isa::reflect<TypeParam>, m, n)
    FOR_EACH_ISA(TEST_REFLECTION)
  }
}

TYPED_TEST(Dense, ColumnsOfLu) {
  if constexpr (!kIsComplex<TypeParam>) {
    for (int64_t m : {1, 2, 7, 16, 17, 31, 32, 100})
      for (int64_t n : {1, 2, 5, 15, 16})
        for (int form = 0; form < 4 && n <= m; ++form) {
#define TEST_PANEL(isa) this->panel(dense::isa::factorPanel<TypeParam>, m, n, form)
          FOR_EACH_ISA(TEST_PANEL)
        }
  }
}

TYPED_TEST(Dense, TriangularSystems) {
  for (int64_t n : {1, 2, 9, 21, 32})
    for (int64_t columns : {1, 5, 16, 35})
      for (int form = 0; form < 16; ++form) {
#define TEST_SOLUTION(isa) this->solution(dense::isa::solveTriangle<TypeParam>, n, columns, form)
        FOR_EACH_ISA(TEST_SOLUTION)
      }
}

}  // namespace
}  // namespace tercel::linalg
