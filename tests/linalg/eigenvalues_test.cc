// Eigenvalues, singular values and the forms they come from, against the matrices themselves.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "linalg/linalg_test.h"

namespace tercel::linalg_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::string kVectors = "86 : u8", kNone = "78 : u8";  // V and N

class Eigenvalues : public LinalgTest {
 protected:
  const DType complex_ = type_.real == DType::f32 ? DType::c64 : DType::c128;

  static Matrix diagonal(const Matrix& values, int64_t rows, int64_t cols) {
    Matrix d(rows, cols);
    for (int64_t i = 0; i < values.rows; ++i) d.at(i, i) = values.at(i, 0);
    return d;
  }
  // Matrices that are hard in different ways.
  std::vector<Matrix> squares(int64_t n) {
    std::vector<Matrix> batch = {random_.matrix(n, n), identity(n), Matrix(n, n),
                                 upper(random_.matrix(n, n)), random_.hermitian(n)};
    Matrix cycle(n, n), graded = random_.matrix(n, n);
    for (int64_t i = 0; i < n; ++i) cycle.at((i + 1) % n, i) = 1;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) graded.at(i, j) *= std::pow(0.5, double(i + j));
    batch.push_back(cycle);
    batch.push_back(graded);
    if (type_.real == DType::f32)
      for (Number& x : batch.back().data) x = Number(std::complex<float>(x));
    return batch;
  }
  // The product of reflectors, one by one, on rows from `skip` on.
  static Matrix product(const Matrix& vectors, const Matrix& taus, int64_t skip) {
    Matrix q = identity(vectors.rows);
    for (int64_t k = 0; k < taus.rows; ++k) {
      Matrix v(vectors.rows, 1), scaled;
      v.at(k + skip, 0) = 1;
      for (int64_t i = k + skip + 1; i < vectors.rows; ++i) v.at(i, 0) = vectors.at(i, k);
      scaled = v;
      for (Number& x : scaled.data) x *= taus.at(k, 0);
      q = q * (identity(vectors.rows) - scaled * adjoint(v));
    }
    return q;
  }
};

const int64_t kSizes[] = {0, 1, 2, 3, 8, 35};
// The larger ones are deflated by windows, and bulges go through them in rows.
const int64_t kSquareSizes[] = {0, 1, 2, 3, 4, 8, 35, 80, 90, 170};

// So few that they are done one after the other; more small ones are done side by side.
constexpr size_t kFew = 3;

TEST_P(Eigenvalues, OfHermitianMatrices) {
  for (size_t count : {kFew, size_t{4}})
  for (int64_t n : {0, 1, 2, 3, 8, 35, 80}) for (bool lower : {true, false})
  for (bool vectors : {true, false}) {
    std::vector<Matrix> a = {random_.hermitian(n), identity(n), Matrix(n, n), random_.hermitian(n)};
    for (int64_t i = 0; i < n; ++i)  // of rank 2
      for (int64_t j = 0; j < n; ++j) a[3].at(i, j) = (i + j) % 2;
    a.erase(a.begin(), a.end() - ptrdiff_t(count));
    std::vector<Matrix> given = a;
    for (Matrix& x : given)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i)
          if (lower ? i < j : i > j) x.at(i, j) = kNan;  // not looked at
    auto out = run(target("syevd", "heevd"),
                   cat("{mode = ", vectors ? kVectors : kNone, ", uplo = ", lower ? 76 : 85,
                       " : u8}"),
                   {value(type_.dtype, given)},
                   {empty(type_.dtype, count, n, n), empty(type_.real, count, n, 1, 1),
                    empty(DType::s32, count, 1, 1, 0)}, {0, -1, -1});
    for (size_t b = 0; b < count; ++b) {
      EXPECT_EQ(out[2].batch[b].data[0], Number(0));
      const Matrix& w = out[1].batch[b];
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        sum += w.at(i, 0).real() - a[b].at(i, i).real();
        if (i > 0) {
          EXPECT_LE(w.at(i - 1, 0).real(), w.at(i, 0).real());
        }
      }
      EXPECT_NEAR(sum, 0, 100 * type_.epsilon * (norm(a[b]) + 1) * double(n + 1));
      if (!vectors) continue;
      const Matrix& v = out[0].batch[b];
      expectOrthonormal(v);
      expectNear(a[b] * v, v * diagonal(w, n, n), norm(a[b]));
    }
  }
}

TEST_P(Eigenvalues, TridiagonalForm) {
  for (int64_t n : kSizes) for (bool lower : {true, false}) {
    const std::vector<Matrix> a = {random_.hermitian(n), random_.hermitian(n)};
    const int64_t k = std::max<int64_t>(n - 1, 0);
    auto out = run(target("sytrd", "hetrd"), lower ? "{uplo = 76 : u8}" : "{uplo = 85 : u8}",
                   {value(type_.dtype, a)},
                   {empty(type_.dtype, 2, n, n), empty(type_.real, 2, n, 1, 1),
                    empty(type_.real, 2, k, 1, 1), empty(type_.dtype, 2, k, 1, 1),
                    empty(DType::s32, 2, 1, 1, 0)});
    for (size_t b = 0; b < 2; ++b) {
      Matrix t(n, n), q = identity(n);
      for (int64_t i = 0; i < n; ++i) t.at(i, i) = out[1].batch[b].at(i, 0);
      for (int64_t i = 0; i < k; ++i) t.at(i, i + 1) = t.at(i + 1, i) = out[2].batch[b].at(i, 0);
      if (lower) {
        q = product(out[0].batch[b], out[3].batch[b], 1);
      } else {  // Q = H(n - 1) ... H(1), v(i) in column i + 1 above row i, 1 there
        for (int64_t i = 0; i < k; ++i) {
          Matrix v(n, 1);
          for (int64_t r = 0; r < i; ++r) v.at(r, 0) = out[0].batch[b].at(r, i + 1);
          v.at(i, 0) = 1;
          Matrix scaled = v;
          for (Number& x : scaled.data) x *= out[3].batch[b].at(i, 0);
          q = (identity(n) - scaled * adjoint(v)) * q;
        }
      }
      expectNear(q * t * adjoint(q), a[b], norm(a[b]));
    }
  }
}

TEST_P(Eigenvalues, HessenbergForm) {
  for (int64_t n : kSizes) for (bool few : {true, false}) {
    std::vector<Matrix> a = squares(n);
    if (few) a.resize(3);  // too few for lanes
    const int64_t k = std::max<int64_t>(n - 1, 0);
    auto out = run(target("gehrd"), cat("{high = ", n, " : s32, low = 1 : s32}"),
                   {value(type_.dtype, a)},
                   {empty(type_.dtype, a.size(), n, n), empty(type_.dtype, a.size(), k, 1, 1),
                    empty(DType::s32, a.size(), 1, 1, 0)}, {0});
    for (size_t b = 0; b < a.size(); ++b) {
      const Matrix q = product(out[0].batch[b], out[1].batch[b], 1);
      expectOrthonormal(q);
      expectNear(q * upper(out[0].batch[b], -1) * adjoint(q), a[b], norm(a[b]));
    }
  }
}

TEST_P(Eigenvalues, SchurForm) {
  for (int64_t n : kSquareSizes) for (bool vectors : {true, false}) {
    const std::vector<Matrix> a = squares(n);
    std::vector<Value> results = {empty(type_.dtype, a.size(), n, n),
                                  empty(type_.dtype, a.size(), n, n),
                                  empty(type_.dtype, a.size(), n, 1, 1)};
    if (!type_.is_complex()) results.push_back(results.back());
    results.push_back(empty(DType::s32, a.size(), 1, 1, 0));
    results.push_back(results.back());
    auto out = run(target("gees"),
                   cat("{mode = ", vectors ? kVectors : kNone, ", sort = ", kNone, "}"),
                   {value(type_.dtype, a)}, results, {0});
    for (size_t b = 0; b < a.size(); ++b) {
      EXPECT_EQ(out.back().batch[b].data[0], Number(0));
      const Matrix &t = out[0].batch[b], &u = out[1].batch[b];
      for (int64_t i = 0; i + 1 < n; ++i) {
        for (int64_t j = i + 2; j < n; ++j) EXPECT_EQ(t.at(j, i), Number(0));
        if (t.at(i + 1, i) == Number(0)) continue;
        ASSERT_FALSE(type_.is_complex());
        EXPECT_EQ(t.at(i, i), t.at(i + 1, i + 1));
        EXPECT_LT((t.at(i, i + 1) * t.at(i + 1, i)).real(), 0);
        if (i + 2 < n) {
          EXPECT_EQ(t.at(i + 2, i + 1), Number(0));
        }
      }
      if (!vectors) continue;
      expectOrthonormal(u);
      expectNear(u * t * adjoint(u), a[b], norm(a[b]));
    }
  }
}

TEST_P(Eigenvalues, OfSquareMatricesWithVectorsOfBothSides) {
  for (int64_t n : kSquareSizes) {
    const std::vector<Matrix> a = squares(n);
    std::vector<Value> results = {empty(type_.dtype, a.size(), n, 1, 1)};
    if (!type_.is_complex()) results.push_back(results[0]);
    const size_t left = results.size();
    results.push_back(empty(complex_, a.size(), n, n));
    results.push_back(results.back());
    results.push_back(empty(DType::s32, a.size(), 1, 1, 0));
    auto out = run(target("geev"),
                   cat("{compute_left = ", kVectors, ", compute_right = ", kVectors, "}"),
                   {value(type_.dtype, a)}, results);
    for (size_t b = 0; b < a.size(); ++b) {
      EXPECT_EQ(out.back().batch[b].data[0], Number(0));
      Matrix w = out[0].batch[b];
      for (int64_t i = 0; i < n && !type_.is_complex(); ++i)
        w.at(i, 0) += Number(0, 1) * out[1].batch[b].at(i, 0);
      const Matrix &vl = out[left].batch[b], &vr = out[left + 1].batch[b];
      expectNear(a[b] * vr, vr * diagonal(w, n, n), norm(a[b]));
      expectNear(adjoint(vl) * a[b], diagonal(w, n, n) * adjoint(vl), norm(a[b]));
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(norm(columns(vr, i, i + 1)), 1, 50 * type_.epsilon);
        EXPECT_NEAR(norm(columns(vl, i, i + 1)), 1, 50 * type_.epsilon);
        if (type_.is_complex() || w.at(i, 0).imag() == 0) continue;
        ASSERT_LT(i + 1, n);
        EXPECT_GT(w.at(i, 0).imag(), 0);
        EXPECT_EQ(w.at(i + 1, 0), std::conj(w.at(i, 0)));
        ++i;
      }
    }
  }
}

TEST_P(Eigenvalues, WithoutVectorsAreTheSame) {
  for (int64_t n : kSquareSizes) {
    const std::vector<Matrix> a = {random_.matrix(n, n)};
    auto values = [&](const std::string& right) {
      std::vector<Value> results = {empty(type_.dtype, 1, n, 1, 1)};
      if (!type_.is_complex()) results.push_back(results[0]);
      for (int i = 0; i < 2; ++i) results.push_back(empty(complex_, 1, n, n));
      results.push_back(empty(DType::s32, 1, 1, 1, 0));
      auto out = run(target("geev"), cat("{compute_left = ", kNone, ", compute_right = ", right, "}"),
                     {value(type_.dtype, a)}, results);
      EXPECT_EQ(out.back().batch[0].data[0], Number(0));
      Matrix w = out[0].batch[0];
      for (int64_t i = 0; i < n && !type_.is_complex(); ++i)
        w.at(i, 0) += Number(0, 1) * out[1].batch[0].at(i, 0);
      return w;
    };
    const Matrix with = values(kVectors), without = values(kNone);
    for (const Number& x : without.data) {
      double nearest = norm(a[0]);
      for (const Number& y : with.data) nearest = std::min(nearest, std::abs(x - y));
      EXPECT_LE(nearest, 200 * type_.epsilon * norm(a[0]));
    }
  }
}

TEST_P(Eigenvalues, OfTriangularMatricesAreTheirDiagonals) {
  const int64_t n = 20;
  Matrix ones(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) ones.at(i, j) = 1;
  std::vector<Value> results = {empty(type_.dtype, 1, n, 1, 1)};
  if (!type_.is_complex()) results.push_back(results[0]);
  results.push_back(empty(complex_, 1, n, n));
  results.push_back(results.back());
  results.push_back(empty(DType::s32, 1, 1, 1, 0));
  auto out = run(target("geev"),
                 cat("{compute_left = ", kNone, ", compute_right = ", kVectors, "}"),
                 {value(type_.dtype, {ones})}, results);
  for (const Number& x : out[0].batch[0].data) EXPECT_EQ(x, Number(1));
  for (const Number& x : out[results.size() - 3].batch[0].data) EXPECT_EQ(x, Number(77));
}

TEST_P(Eigenvalues, SingularValues) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {7, 4}, {4, 7}, {1, 6}, {6, 1},
                      {0, 3}, {3, 0}, {40, 33}, {20, 45}, {90, 70}}) {
    const int64_t k = std::min(m, n);
    std::vector<Matrix> a = {random_.matrix(m, n), Matrix(m, n), Matrix(m, n), random_.matrix(m, n),
                             random_.matrix(m, n), random_.matrix(m, n)};
    for (Number& x : a[2].data) x = 1;                                                // of rank 1
    for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j)
      if (j % 2) a[3].at(i, j) = 0;                                                   // half of it
    for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j)
      if ((j != i && j != i + 1) || (i == 1 && j == 1)) a[4].at(i, j) = 0;  // one on the diagonal
    for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j)
      a[5].at(i, j) *= std::pow(0.25, double(i + 2 * j));
    if (type_.real == DType::f32)
      for (Number& x : a[5].data) x = Number(std::complex<float>(x));
    const std::vector<Matrix> all = a;
    for (const char* name : {"gesdd", "gesvd"}) for (char mode : {'A', 'S', 'N'})
    for (auto [from, end] : {std::pair<size_t, size_t>{0, 6}, {0, kFew}, {kFew, 6}}) {
      a.assign(all.begin() + ptrdiff_t(from), all.begin() + ptrdiff_t(end));
      const int64_t columns = mode == 'A' ? m : k, rows = mode == 'A' ? n : k;
      const size_t count = a.size();
      auto out = run(target(name), cat("{mode = ", int(mode), " : u8}"), {value(type_.dtype, a)},
                     {empty(type_.dtype, count, m, n), empty(type_.real, count, k, 1, 1),
                      empty(type_.dtype, count, m, columns), empty(type_.dtype, count, rows, n),
                      empty(DType::s32, count, 1, 1, 0)}, {0});
      for (size_t b = 0; b < count; ++b) {
        EXPECT_EQ(out[4].batch[b].data[0], Number(0));
        const Matrix& s = out[1].batch[b];
        EXPECT_NEAR(norm(s), norm(a[b]), 100 * type_.epsilon * (norm(a[b]) + 1e-30));
        for (int64_t i = 0; i < k; ++i) {
          EXPECT_GE(s.at(i, 0).real(), 0);
          if (i > 0) {
            EXPECT_LE(s.at(i, 0).real(), s.at(i - 1, 0).real());
          }
        }
        if (mode == 'N') continue;
        const Matrix &u = out[2].batch[b], &vh = out[3].batch[b];
        expectOrthonormal(u);
        expectOrthonormal(adjoint(vh));
        expectNear(u * diagonal(s, columns, rows) * vh, a[b], norm(a[b]));
      }
    }
  }
}

TEST_P(Eigenvalues, WhatIsNotFiniteIsReported) {
  for (double bad : {kNan, std::numeric_limits<double>::infinity()}) {
    Matrix a = random_.matrix(4, 4);
    a.at(2, 1) = bad;
    const Value square = empty(type_.dtype, 1, 4, 4), info = empty(DType::s32, 1, 1, 1, 0);
    const Value vector = empty(type_.dtype, 1, 4, 1, 1), reals = empty(type_.real, 1, 4, 1, 1);
    const Value vectors = empty(complex_, 1, 4, 4);
    const Value in = value(type_.dtype, {a});
    auto syevd = run(target("syevd", "heevd"), "{mode = 86 : u8, uplo = 76 : u8}", {in},
                     {square, reals, info});
    EXPECT_NE(syevd.back().batch[0].data[0], Number(0));
    auto gesdd =
        run(target("gesdd"), "{mode = 65 : u8}", {in}, {square, reals, square, square, info});
    EXPECT_NE(gesdd.back().batch[0].data[0], Number(0));
    std::vector<Value> schur = {square, square, vector, info, info};
    std::vector<Value> eig = {vector, vectors, vectors, info};
    if (!type_.is_complex()) {
      schur.insert(schur.begin() + 2, vector);
      eig.insert(eig.begin(), vector);
    }
    auto gees = run(target("gees"), "{mode = 86 : u8, sort = 78 : u8}", {in}, schur);
    EXPECT_NE(gees.back().batch[0].data[0], Number(0));
    auto geev = run(target("geev"), "{compute_left = 78 : u8, compute_right = 86 : u8}", {in}, eig);
    EXPECT_NE(geev.back().batch[0].data[0], Number(0));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Eigenvalues, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(1, info.param.letter); });

}  // namespace
}  // namespace tercel::linalg_test
