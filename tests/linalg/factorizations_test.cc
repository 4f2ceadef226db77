// Factorisations and systems of equations, against what they are factors and solutions of.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "linalg/linalg_test.h"

namespace tercel::linalg_test {
namespace {

// One matrix after the other, and small ones side by side in vectors.
constexpr size_t kCounts[] = {2, 19};

// The same, and larger ones that fill the vectors some times.
std::vector<size_t> countsOf(int64_t rows, int64_t cols) {
  std::vector<size_t> counts(std::begin(kCounts), std::end(kCounts));
  if (std::max(rows, cols) > 32 && rows * cols < 2400) counts.push_back(67);
  return counts;
}

class Factorizations : public LinalgTest {
 protected:
  std::vector<Matrix> matrices(size_t count, int64_t rows, int64_t cols) {
    std::vector<Matrix> batch;
    for (size_t b = 0; b < count; ++b) batch.push_back(random_.matrix(rows, cols));
    return batch;
  }
};

const std::pair<int64_t, int64_t> kShapes[] = {{1, 1}, {5, 5},   {7, 4},   {4, 7},  {1, 6},  {6, 1},
                                               {0, 3}, {3, 0},   {33, 33}, {48, 48}, {64, 5},
                                               {7, 48}, {70, 41}, {41, 70}, {150, 97}};

TEST_P(Factorizations, CholeskyOfEitherTriangle) {
  for (int64_t n : {0, 1, 2, 5, 31, 48, 67, 140}) for (size_t count : countsOf(n, n)) {
    for (bool lower : {true, false}) {
      std::vector<Matrix> a;
      for (size_t b = 0; b < count; ++b) a.push_back(random_.positive(n));
      std::vector<Matrix> given = a;
      for (Matrix& x : given) {  // the other triangle is nobody's
        for (int64_t j = 0; j < n; ++j)
          for (int64_t i = 0; i < n; ++i)
            if (lower ? i < j : i > j) x.at(i, j) = 55;
      }
      auto out = run(target("potrf"), lower ? "{uplo = 76 : u8}" : "{uplo = 85 : u8}",
                     {value(type_.dtype, given)},
                     {empty(type_.dtype, count, n, n), empty(DType::s32, count, 1, 1, 0)}, {0, -1});
      for (size_t b = 0; b < count; ++b) {
        EXPECT_EQ(out[1].batch[b].data[0], Number(0));
        const Matrix& f = out[0].batch[b];
        const Matrix u = lower ? upper(adjoint(f)) : upper(f);
        expectNear(adjoint(u) * u, a[b], norm(a[b]));
        if (n > 1) {
          EXPECT_EQ(lower ? f.at(0, n - 1) : f.at(n - 1, 0), Number(55));
        }
      }
    }
  }
}

TEST_P(Factorizations, CholeskySaysWhereAMatrixIsNotPositive) {
  for (int64_t n : {3, 31, 43, 50}) for (size_t count : countsOf(n, n)) {
    Matrix negative = random_.positive(n), nan = random_.positive(n);
    negative.at(n - 2, n - 2) = -1;
    nan.at(n - 1, n - 3) = nan.at(n - 3, n - 1) = std::numeric_limits<double>::quiet_NaN();
    std::vector<Matrix> a(count, random_.positive(n));
    a[count - 2] = negative;
    a[count - 1] = nan;
    auto out = run(target("potrf"), "{uplo = 76 : u8}", {value(type_.dtype, a)},
                   {empty(type_.dtype, count, n, n), empty(DType::s32, count, 1, 1, 0)});
    for (size_t b = 0; b + 2 < count; ++b) EXPECT_EQ(out[1].batch[b].data[0], Number(0));
    EXPECT_EQ(out[1].batch[count - 2].data[0], Number(double(n - 1)));
    EXPECT_EQ(out[1].batch[count - 1].data[0], Number(double(n)));
  }
}

TEST_P(Factorizations, LuWithExchanges) {
  for (auto [m, n] : kShapes) for (size_t count : countsOf(m, n)) {
    const int64_t k = std::min(m, n);
    const std::vector<Matrix> a = matrices(count, m, n);
    auto out = run(target("getrf"), "", {value(type_.dtype, a)},
                   {empty(type_.dtype, count, m, n), empty(DType::s32, count, k, 1, 1),
                    empty(DType::s32, count, 1, 1, 0)});
    for (size_t b = 0; b < count; ++b) {
      EXPECT_EQ(out[2].batch[b].data[0], Number(0));
      Matrix exchanged = a[b];
      for (int64_t i = 0; i < k; ++i) {
        const auto row = static_cast<int64_t>(out[1].batch[b].at(i, 0).real()) - 1;
        ASSERT_GE(row, i);
        ASSERT_LT(row, m);
        for (int64_t j = 0; j < n && row != i; ++j)
          std::swap(exchanged.at(i, j), exchanged.at(row, j));
      }
      const Matrix& f = out[0].batch[b];
      Matrix l(m, k), u(k, n);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < k; ++j) l.at(i, j) = i == j ? 1 : i > j ? f.at(i, j) : 0;
        for (int64_t j = i; j < n && i < k; ++j) u.at(i, j) = f.at(i, j);
      }
      expectNear(l * u, exchanged, norm(a[b]));
      for (const Number& x : l.data) EXPECT_LE(std::abs(x), type_.is_complex() ? 1.5 : 1.0);
    }
  }
}

TEST_P(Factorizations, LuNamesTheFirstPivotThatIsZero) {
  for (size_t count : kCounts) {
    std::vector<Matrix> a = matrices(count, 4, 4);
    for (int64_t i = 0; i < 4; ++i) a.back().at(i, 2) = 0;
    auto out = run(target("getrf"), "", {value(type_.dtype, a)},
                   {empty(type_.dtype, count, 4, 4), empty(DType::s32, count, 4, 1, 1),
                    empty(DType::s32, count, 1, 1, 0)});
    EXPECT_EQ(out[2].batch[0].data[0], Number(0));
    EXPECT_EQ(out[2].batch.back().data[0], Number(3));
  }
}

TEST_P(Factorizations, QrAndItsOrthogonalMatrix) {
  for (auto [m, n] : kShapes) for (size_t count : countsOf(m, n)) {
    const int64_t k = std::min(m, n);
    const std::vector<Matrix> a = matrices(count, m, n);
    auto f = run(target("geqrf"), "", {value(type_.dtype, a)},
                 {empty(type_.dtype, count, m, n), empty(type_.dtype, count, k, 1, 1)}, {0, -1});
    std::vector<Matrix> vectors;
    for (const Matrix& x : f[0].batch) vectors.push_back(columns(x, 0, k));
    auto q = run(target("orgqr", "ungqr"), "", {value(type_.dtype, vectors), f[1]},
                 {empty(type_.dtype, count, m, k)}, {0});
    for (size_t b = 0; b < count; ++b) {
      Matrix r(k, n);
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = i; j < n; ++j) r.at(i, j) = f[0].batch[b].at(i, j);
      expectOrthonormal(q[0].batch[b]);
      expectNear(q[0].batch[b] * r, a[b], norm(a[b]));
      for (int64_t i = 0; i < k; ++i) EXPECT_EQ(r.at(i, i).imag(), 0);
    }
  }
}

TEST_P(Factorizations, ProductsWithTheOrthogonalMatrixOfAQr) {
  struct Size {
    int64_t m, n, others;
  };
  constexpr Size kSizes[] = {{37, 11, 19}, {9, 4, 5}, {48, 3, 5}, {90, 60, 33}};
  for (auto [m, n, others] : kSizes) for (size_t count : countsOf(m, m)) {
    const std::vector<Matrix> a = matrices(count, m, n);
    auto f = run(target("geqrf"), "", {value(type_.dtype, a)},
                 {empty(type_.dtype, count, m, n), empty(type_.dtype, count, n, 1, 1)});
    std::vector<Matrix> wide;
    for (const Matrix& x : f[0].batch) {
      Matrix square(m, m);
      std::copy(x.data.begin(), x.data.end(), square.data.begin());
      wide.push_back(square);
    }
    const auto q = run(target("orgqr", "ungqr"), "", {value(type_.dtype, wide), f[1]},
                       {empty(type_.dtype, count, m, m)})[0];
    for (bool left : {true, false}) {
      for (bool turned : {true, false}) {
        const std::vector<Matrix> c = left ? matrices(count, m, others)
                                             : matrices(count, others, m);
        auto out = run(target("ormqr", "unmqr"),
                       cat("{left = ", left ? "true" : "false", ", transpose = ",
                           turned ? "true" : "false", "}"),
                       {f[0], f[1], value(type_.dtype, c)},
                       {empty(type_.dtype, count, c[0].rows, c[0].cols)});
        for (size_t b = 0; b < count; ++b) {
          const Matrix op = turned ? adjoint(q.batch[b]) : q.batch[b];
          expectNear(out[0].batch[b], left ? op * c[b] : c[b] * op, norm(c[b]));
        }
      }
    }
  }
}

TEST_P(Factorizations, QrWithExchangesOfColumns) {
  for (auto [m, n] : kShapes) {
    const int64_t k = std::min(m, n);
    std::vector<Matrix> a = matrices(2, m, n);
    for (int64_t i = 0; i < m && n > 3; ++i) a[1].at(i, 1) = a[1].at(i, 3);  // not of full rank
    std::vector<Matrix> order(2, Matrix(n, 1));
    if (n > 2) order[0].at(2, 0) = 1;  // stays in front
    auto f = run(target("geqp3"), "", {value(type_.dtype, a), value(DType::s32, order, 1)},
                 {empty(type_.dtype, 2, m, n), empty(DType::s32, 2, n, 1, 1),
                  empty(type_.dtype, 2, k, 1, 1)});
    std::vector<Matrix> vectors;
    for (const Matrix& x : f[0].batch) vectors.push_back(columns(x, 0, k));
    auto q = run(target("orgqr", "ungqr"), "", {value(type_.dtype, vectors), f[2]},
                 {empty(type_.dtype, 2, m, k)});
    for (size_t b = 0; b < 2; ++b) {
      Matrix exchanged(m, n), r(k, n);
      for (int64_t j = 0; j < n; ++j) {
        const auto from = static_cast<int64_t>(f[1].batch[b].at(j, 0).real()) - 1;
        ASSERT_TRUE(from >= 0 && from < n);
        for (int64_t i = 0; i < m; ++i) exchanged.at(i, j) = a[b].at(i, from);
        for (int64_t i = 0; i <= j && i < k; ++i) r.at(i, j) = f[0].batch[b].at(i, j);
      }
      expectNear(q[0].batch[b] * r, exchanged, norm(a[b]));
      const bool fixed = b == 0 && n > 2;
      if (fixed) {
        EXPECT_EQ(f[1].batch[b].at(0, 0), Number(3));
      }
      for (int64_t i = fixed ? 1 : 0; i + 1 < k; ++i)
        EXPECT_LE(std::abs(r.at(i + 1, i + 1)),
                  std::abs(r.at(i, i)) * (1 + 100 * type_.epsilon) + 1e-5 * type_.epsilon);
    }
  }
}

TEST_P(Factorizations, ReflectorsOfHugeAndTinyNumbers) {
  const double huge = type_.real == DType::f32 ? 1e30 : 1e300;
  for (double scale : {huge, 1 / huge}) for (size_t count : kCounts) {
    Matrix a = random_.matrix(6, 4);
    for (Number& x : a.data) x *= scale;
    auto f = run(target("geqrf"), "", {value(type_.dtype, std::vector<Matrix>(count, a))},
                 {empty(type_.dtype, count, 6, 4), empty(type_.dtype, count, 4, 1, 1)});
    auto q = run(target("orgqr", "ungqr"), "", {f[0], f[1]}, {empty(type_.dtype, count, 6, 4)});
    expectOrthonormal(q[0].batch[0]);
    Matrix r(4, 4), scaled = a;
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = i; j < 4; ++j) r.at(i, j) = f[0].batch[0].at(i, j) / scale;
    for (Number& x : scaled.data) x /= scale;
    expectNear(q[0].batch[0] * r, scaled, norm(scaled));
  }
}

TEST_P(Factorizations, TriangularSystems) {
  constexpr std::pair<int64_t, int64_t> kSizes[] = {{5, 3}, {31, 7}, {48, 7}, {1, 1}, {0, 2}, {3, 0}};
  for (auto [m, k] : kSizes) for (size_t count : countsOf(m, m)) {
    for (char side : {'L', 'R'}) for (char uplo : {'L', 'U'})
      for (char trans : {'N', 'T', 'C'}) for (char diag : {'N', 'U'}) {
        const int64_t n = side == 'L' ? m : k;
        std::vector<Matrix> a = matrices(count, n, n), effective = a, op;
        const std::vector<Matrix> y = matrices(count, m, k);
        for (size_t b = 0; b < count; ++b) {
          for (int64_t i = 0; i < n; ++i) {
            a[b].at(i, i) = 6;
            for (int64_t j = 0; j < n; ++j) {
              if (j != i) a[b].at(i, j) = a[b].at(i, j) / double(n);
              effective[b].at(i, j) = i == j ? (diag == 'U' ? Number(1) : a[b].at(i, j))
                                      : (uplo == 'L') == (i > j) ? a[b].at(i, j) : Number(0);
            }
          }
          if (type_.real == DType::f32)
            for (Number& x : effective[b].data) x = Number(std::complex<float>(x));
          op.push_back(trans == 'N'   ? effective[b]
                       : trans == 'T' ? transpose(effective[b]) : adjoint(effective[b]));
        }
        const std::string attributes =
            cat("{diag = ", int(diag), " : u8, side = ", int(side), " : u8, trans_x = ", int(trans),
                " : u8, uplo = ", int(uplo), " : u8}");
        auto out = run(target("trsm"), attributes,
                       {value(type_.dtype, a), value(type_.dtype, y)},
                       {empty(type_.dtype, count, m, k)}, {1});
        for (size_t b = 0; b < count; ++b) {
          const Matrix& x = out[0].batch[b];
          expectNear(side == 'L' ? op[b] * x : x * op[b], y[b], norm(y[b]) + norm(x));
        }
      }
  }
}

TEST_P(Factorizations, TridiagonalSystems) {
  for (int64_t n : {0, 1, 2, 3, 17}) for (size_t count : {3, 20}) {
    std::vector<Matrix> dl = matrices(count, n, 1), d = matrices(count, n, 1),
                        du = matrices(count, n, 1);
    const std::vector<Matrix> b = matrices(count, n, 4);
    for (int64_t i = 0; i < n; ++i) d[1].at(i, 0) = i + 1 < n ? 0.0 : 2.0;  // only exchanges help
    for (int64_t i = 0; i < n; ++i) d[2].at(i, 0) = dl[2].at(i, 0) = 0;     // singular
    const Value like = empty(type_.dtype, count, n, 1, 1);
    auto out = run(target("gtsv"), "",
                   {value(type_.dtype, dl, 1), value(type_.dtype, d, 1), value(type_.dtype, du, 1),
                    value(type_.dtype, b)},
                   {like, like, like, empty(type_.dtype, count, n, 4), empty(DType::s32, count, 1, 1, 0)},
                   {0, 1, 2, 3, -1});
    for (size_t e = 0; e < count; ++e) {
      if (e == 2) continue;
      ASSERT_EQ(out[4].batch[e].data[0], Number(0)) << n;
      Matrix a(n, n);
      for (int64_t i = 0; i < n; ++i) {
        a.at(i, i) = d[e].at(i, 0);
        if (i > 0) a.at(i, i - 1) = dl[e].at(i, 0);
        if (i + 1 < n) a.at(i, i + 1) = du[e].at(i, 0);
      }
      const Matrix& x = out[3].batch[e];
      expectNear(a * x, b[e], norm(b[e]) + norm(a) * norm(x));
    }
    EXPECT_EQ(out[4].batch[2].data[0], Number(n > 0 ? 1 : 0));
  }
}

// A solution of what is singular is large and finite; elsewhere it is gtsv's.
TEST_P(Factorizations, PerturbedTridiagonalSystems) {
  const std::string name = "tridiagonal_solve_perturbed_ffi";
  for (int64_t n : {0, 1, 2, 3, 17}) for (size_t count : {3, 20}) {
    std::vector<Matrix> dl = matrices(count, n, 1), d = matrices(count, n, 1),
                        du = matrices(count, n, 1);
    const std::vector<Matrix> b = matrices(count, n, 4);
    for (int64_t i = 0; i < n; ++i) d[1].at(i, 0) = i + 1 < n ? 0.0 : 2.0;  // only exchanges help
    for (int64_t i = 0; i < n; ++i) d[2].at(i, 0) = i > 0, dl[2].at(i, 0) = 0;  // singular
    const std::vector<Value> in = {value(type_.dtype, dl, 1), value(type_.dtype, d, 1),
                                   value(type_.dtype, du, 1), value(type_.dtype, b)};
    const Value like = empty(type_.dtype, count, n, 1, 1), x = empty(type_.dtype, count, n, 4);
    const auto plain = run(target("gtsv"), "", in,
                           {like, like, like, x, empty(DType::s32, count, 1, 1, 0)}, {0, 1, 2, 3, -1});
    const auto out = run(name, "", in, {x});
    for (size_t e = 0; e < count; ++e) {
      if (e == 2) continue;
      EXPECT_EQ(norm(out[0].batch[e] - plain[3].batch[e]), 0) << n;
    }
    const double size = norm(out[0].batch[2]);
    EXPECT_TRUE(std::isfinite(size)) << n;
    EXPECT_GE(size, n > 0 ? 0.01 / type_.epsilon * norm(b[2]) / double(n) : 0);
    EXPECT_EQ(call(name, "", {in[0], in[1], in[2]}, {x}).status().code(), Code::invalid_argument);
    EXPECT_EQ(call(name, "", {}, {x}).status().code(), Code::invalid_argument);
  }
}

TEST_P(Factorizations, RefuseWhatIsNoCallOfTheirs) {
  const Value a = value(type_.dtype, matrices(2, 3, 3));
  const Value info = empty(DType::s32, 2, 1, 1, 0);
  const std::string name = target("potrf");
  auto code = [&](const std::string& attributes, const std::vector<Value>& in,
                  const std::vector<Value>& out) {
    return call(name, attributes, in, out).status().code();
  };
  const std::string uplo = "{uplo = 76 : u8}";
  EXPECT_EQ(code(uplo, {a}, {a, info}), Code::ok);
  EXPECT_EQ(code(uplo, {a}, {a}), Code::invalid_argument);
  EXPECT_EQ(code(uplo, {}, {a, info}), Code::invalid_argument);
  EXPECT_EQ(code(uplo, {a}, {empty(type_.dtype, 2, 3, 2), info}), Code::invalid_argument);
  EXPECT_EQ(code(uplo, {a}, {empty(type_.dtype, 1, 3, 3), info}), Code::invalid_argument);
  EXPECT_EQ(code(uplo, {a}, {a, a}), Code::invalid_argument);
  EXPECT_EQ(code(uplo, {value(type_.dtype, matrices(2, 3, 2))}, {a, info}), Code::invalid_argument);
  EXPECT_EQ(code("", {a}, {a, info}), Code::invalid_argument);
  EXPECT_EQ(code("{uplo = 77 : u8}", {a}, {a, info}), Code::invalid_argument);
  EXPECT_EQ(code("{uplo = x}", {a}, {a, info}), Code::invalid_argument);
  EXPECT_EQ(linalg::find("lapack_dpotrf"), nullptr);
  EXPECT_EQ(linalg::find("lapack_dheevd_ffi"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Types, Factorizations, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(1, info.param.letter); });

}  // namespace
}  // namespace tercel::linalg_test
