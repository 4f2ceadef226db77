#include <cmath>
#include <vector>

#include "compiler/eval/numeric.h"
#include "compiler/eval/numeric_ops.h"
#include "compiler/eval/output.h"
#include "compiler/eval/product.h"

namespace tercel::eval {
namespace {

template <class W>
W conjugate(W x) {
  if constexpr (kIsComplex<W>)
    return std::conj(x);
  else
    return x;
}

// Calls f.operator()<T>() for the types that have roots and quotients.
template <class F>
void visitInexact(DType dtype, F&& f) {
  visitDType(dtype, [&]<class T>() {
    if constexpr (kIsFloat<T> || kIsComplex<T>) f.template operator()<T>();
  });
}

// The lower factor of the matrix whose lower triangle is `at`.
template <class W, class At>
std::vector<W> factor(int64_t n, At at) {
  std::vector<W> lower(static_cast<size_t>(n * n));
  auto l = [&](int64_t i, int64_t j) -> W& { return lower[static_cast<size_t>(i * n + j)]; };
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = j; i < n; ++i) {
      W rest = at(i, j);
      for (int64_t k = 0; k < j; ++k) rest -= product(l(i, k), conjugate(l(j, k)));
      if (i > j)
        l(i, j) = rest / l(j, j);
      else if constexpr (kIsComplex<W>)
        l(j, j) = std::sqrt(rest.real());
      else
        l(j, j) = std::sqrt(rest);
    }
  return lower;
}

}  // namespace

Result<Literals> evalCholesky(Evaluation& evaluation, const Op& op, Operands operands) {
  Input in(operands[0]);
  Output out(in.shape());
  const int64_t n = in.shape().dims.back(), elements = in.shape().elements();
  const bool is_lower = op.boolean(AttrKey::lower);
  TERCEL_TRY(evaluation.charge(elements * n));
  visitInexact(in.shape().dtype, [&]<class T>() {
    using W = Wide<T>;
    for (int64_t first = 0; first < elements; first += n * n) {
      const T* a = in.data<T>() + first;
      std::vector<W> lower = factor<W>(n, [&](int64_t i, int64_t j) {
        return is_lower ? widen<W>(a[i * n + j]) : conjugate(widen<W>(a[j * n + i]));
      });
      for (int64_t i = 0; i < n * n; ++i) {
        W value = lower[static_cast<size_t>(is_lower ? i : i % n * n + i / n)];
        out.data<T>()[first + i] = narrow<T>(is_lower ? value : conjugate(value));
      }
    }
  });
  return Literals{out.take()};
}

Result<Literals> evalTriangularSolve(Evaluation& evaluation, const Op& op, Operands operands) {
  Input a_in(operands[0]), b_in(operands[1]);
  Output out(b_in.shape());
  const bool left = op.boolean(AttrKey::left_side), unit = op.boolean(AttrKey::unit_diagonal);
  const std::string& form = op.symbol(AttrKey::transpose_a);
  // Of the matrix M with M x = b for each column, or row, of the right side.
  const bool turned = (form != "NO_TRANSPOSE") == left;
  const bool lower = op.boolean(AttrKey::lower) != turned;
  const int64_t n = a_in.shape().dims.back(), elements = b_in.shape().elements();
  if (elements == 0) return Literals{out.take()};
  const int64_t matrix = b_in.shape().dims.back() * b_in.shape().dims[b_in.shape().dims.size() - 2];
  const int64_t count = matrix / n;
  TERCEL_TRY(evaluation.charge(elements * n));
  visitInexact(b_in.shape().dtype, [&]<class T>() {
    using W = Wide<T>;
    std::vector<W> x(static_cast<size_t>(n));
    for (int64_t line = 0; line < elements / n; ++line) {
      const T* a = a_in.data<T>() + line / count * n * n;
      const int64_t first = line / count * matrix + (left ? line % count : line % count * n);
      const int64_t step = left ? count : 1;
      auto m = [&](int64_t i, int64_t j) {
        W value = widen<W>(turned ? a[j * n + i] : a[i * n + j]);
        return form == "ADJOINT" ? conjugate(value) : value;
      };
      for (int64_t k = 0; k < n; ++k) {
        const int64_t i = lower ? k : n - 1 - k;
        W rest = widen<W>(b_in.data<T>()[first + i * step]);
        for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j)
          rest -= product(m(i, j), x[static_cast<size_t>(j)]);
        x[static_cast<size_t>(i)] = unit ? rest : rest / m(i, i);
        out.data<T>()[first + i * step] = narrow<T>(x[static_cast<size_t>(i)]);
      }
    }
  });
  return Literals{out.take()};
}

}  // namespace tercel::eval
