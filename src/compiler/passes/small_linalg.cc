#include "compiler/passes/small_linalg.h"

#include <algorithm>

namespace tercel::passes {
namespace {

using ir::Builder;
using ir::OpKind;
using ir::Value;

constexpr int64_t kMostLu = 4, kMostCholesky = 6;  // rows of real matrices
constexpr int64_t kMostMatrices = 1024, kMostOfMany = 3;
constexpr int64_t kMostSeparate = 80;  // products of a solution whose columns are apart

int64_t largestSide(const Shape& matrices) {
  const Dims& dims = matrices.dims;
  return std::max(dims[dims.size() - 2], dims[dims.size() - 1]);
}

bool isSmall(const Shape& matrices, int64_t most) {
  const int64_t side = largestSide(matrices);
  if (isComplex(matrices.dtype)) --most;  // an operation of theirs is several
  // The library does many at once, each entry read and written once.
  if (matrices.elements() > kMostMatrices * side * side) most = kMostOfMany;
  return matrices.elements() > 0 && side <= most;
}

// Elementwise arithmetic on equal shapes.
class Arithmetic {
 public:
  explicit Arithmetic(Builder& b) : b_(b) {}

  Value number(Value like, double n) { return b_.splat(b_.shape(like), n); }
  Value integer(Value like, int64_t n) {
    return b_.splat({DType::s32, b_.shape(like).dims}, static_cast<double>(n));
  }
  Value multiply(Value x, Value y) { return b_.binary(OpKind::multiply_, x, y); }
  Value divide(Value x, Value y) { return b_.binary(OpKind::divide_, x, y); }
  Value lessProduct(Value from, Value x, Value y) {
    return b_.binary(OpKind::subtract_, from, multiply(x, y));
  }
  // Of rows that are multiples of each other zeros are left, mostly: so they are found singular.
  Value lessRoundedProduct(Value from, Value x, Value y) {
    Value product = multiply(x, y);
    const ir::Type types[] = {b_.module().type(product)};
    const ir::OpId barrier = b_.append(OpKind::optimization_barrier_, {product}, types);
    return b_.binary(OpKind::subtract_, from, b_.module().op(barrier).result());
  }
  Value real(Value x) { return isComplex(b_.shape(x).dtype) ? b_.unary(OpKind::real_, x) : x; }
  // |re| + |im|
  Value size(Value x) {
    if (!isComplex(b_.shape(x).dtype)) return b_.unary(OpKind::abs_, x);
    Value re = b_.unary(OpKind::abs_, b_.unary(OpKind::real_, x));
    return b_.binary(OpKind::add_, re, b_.unary(OpKind::abs_, b_.unary(OpKind::imag_, x)));
  }
  // By a real number.
  Value divideByReal(Value x, Value by) {
    if (!isComplex(b_.shape(x).dtype)) return divide(x, by);
    return b_.binary(OpKind::complex_, divide(b_.unary(OpKind::real_, x), by),
                     divide(b_.unary(OpKind::imag_, x), by));
  }
  Value is(Value x, std::string_view direction, Value y) { return b_.compare(x, y, direction); }
  Value select(Value pred, Value x, Value y) { return b_.select(pred, x, y); }

 private:
  Builder& b_;
};

// The number of the row, from 0, with the largest entry of column k at or below the diagonal.
struct Pivot {
  Value row, size;
};
Pivot findPivot(Arithmetic& f, Entries& a, int64_t k) {
  Pivot pivot{f.integer(a(k, k), k), f.size(a(k, k))};
  for (int64_t i = k + 1; i < a.rows(); ++i) {
    Value size = f.size(a(i, k));
    Value is_larger = f.is(size, "GT", pivot.size);
    pivot.row = f.select(is_larger, f.integer(size, i), pivot.row);
    pivot.size = f.select(is_larger, size, pivot.size);
  }
  return pivot;
}

void exchangeRows(Arithmetic& f, Entries& a, int64_t k, Value with) {
  for (int64_t i = k + 1; i < a.rows(); ++i) {
    Value is_here = f.is(with, "EQ", f.integer(with, i));
    for (int64_t j = 0; j < a.columns(); ++j) {
      Value upper = a(k, j), lower = a(i, j);
      a(k, j) = f.select(is_here, lower, upper);
      a(i, j) = f.select(is_here, upper, lower);
    }
  }
}

// numbers[k] + 1 of the first k for which wrong[k] holds, else 0.
Value firstOf(Arithmetic& f, const std::vector<Value>& wrong) {
  Value first = f.integer(wrong[0], 0);
  for (size_t k = wrong.size(); k-- > 0;)
    first = f.select(wrong[k], f.integer(first, static_cast<int64_t>(k) + 1), first);
  return first;
}

// The solution of one column, whose rows are arrays of one shape; m(i, j) gives an entry.
template <class M>
void solveColumn(Arithmetic& f, std::vector<Value>& x, bool lower, bool unit, M&& m) {
  const auto n = static_cast<int64_t>(x.size());
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    Value& mine = x[static_cast<size_t>(i)];
    for (int64_t before = 0; before < step; ++before) {
      const int64_t j = lower ? before : n - 1 - before;
      mine = f.lessProduct(mine, m(i, j), x[static_cast<size_t>(j)]);
    }
    if (!unit) mine = f.divide(mine, m(i, i));
  }
}

}  // namespace

bool isSmallLu(const Shape& matrices) { return isSmall(matrices, kMostLu); }
bool isSmallCholesky(const Shape& matrices) { return isSmall(matrices, kMostCholesky); }
bool isSmallTriangle(const Shape& matrices) { return isSmall(matrices, kMostCholesky); }

SmallLu smallLu(Builder& b, Entries a) {
  Arithmetic f(b);
  std::vector<Value> pivots, zeros;
  for (int64_t k = 0; k < std::min(a.rows(), a.columns()); ++k) {
    const Pivot pivot = findPivot(f, a, k);
    exchangeRows(f, a, k, pivot.row);
    pivots.push_back(b.binary(OpKind::add_, pivot.row, f.integer(pivot.row, 1)));
    zeros.push_back(f.is(pivot.size, "EQ", f.number(pivot.size, 0)));
    Value divisor = f.select(zeros.back(), f.number(a(k, k), 1), a(k, k));
    for (int64_t i = k + 1; i < a.rows(); ++i) {
      a(i, k) = f.divide(a(i, k), divisor);
      for (int64_t j = k + 1; j < a.columns(); ++j)
        a(i, j) = f.lessRoundedProduct(a(i, j), a(i, k), a(k, j));
    }
  }
  Value info = firstOf(f, zeros);
  return {std::move(a), std::move(pivots), info};
}

SmallCholesky smallCholesky(Builder& b, Entries a) {
  Arithmetic f(b);
  std::vector<Value> wrong;
  for (int64_t k = 0; k < a.rows(); ++k) {
    Value square = f.real(a(k, k));
    for (int64_t j = 0; j < k; ++j)
      square =
          b.binary(OpKind::subtract_, square, f.real(f.multiply(a(k, j), conjugated(b, a(k, j)))));
    Value right = f.is(square, "GT", f.number(square, 0));  // not where it is NaN
    wrong.push_back(b.unary(OpKind::not_, right));
    Value root = b.unary(OpKind::sqrt_, square);
    a(k, k) = b.convert(root, b.shape(a(k, k)).dtype);
    for (int64_t i = k + 1; i < a.rows(); ++i) {
      for (int64_t j = 0; j < k; ++j)
        a(i, k) = f.lessProduct(a(i, k), a(i, j), conjugated(b, a(k, j)));
      a(i, k) = f.divideByReal(a(i, k), root);
    }
  }
  Value info = firstOf(f, wrong);
  return {std::move(a), info};
}

Value smallSolution(Builder& b, Entries a, Value rhs, size_t unknowns, const Triangle& how) {
  Arithmetic f(b);
  // x op(a) = b is op(a)^T x^T = b^T.
  const bool turned = how.transposed == how.left, lower = how.lower != turned;
  if (turned) a = a.turned();
  if (how.conjugate)
    for (int64_t i = 0; i < a.rows(); ++i)
      for (int64_t j = 0; j < a.rows(); ++j) a(i, j) = conjugated(b, a(i, j));

  const Dims dims = b.shape(rhs).dims;
  const size_t batch_rank = dims.size() - 2;
  const int64_t n = a.rows(), m = dims[2 * batch_rank + 1 - unknowns];
  if (n * n * m <= kMostSeparate) {
    Entries x = entriesOf(b, rhs);
    if (unknowns == batch_rank) x = x.turned();
    Entries solved(m, n);
    for (int64_t column = 0; column < m; ++column) {
      std::vector<Value> rows;
      for (int64_t i = 0; i < n; ++i) rows.push_back(x(column, i));
      solveColumn(f, rows, lower, how.unit, [&](int64_t i, int64_t j) { return a(i, j); });
      for (int64_t i = 0; i < n; ++i) solved(column, i) = rows[static_cast<size_t>(i)];
    }
    return matricesOf(b, unknowns == batch_rank ? solved.turned() : solved);
  }
  std::vector<Value> rows;
  for (int64_t i = 0; i < n; ++i) rows.push_back(lineAt(b, rhs, unknowns, i));
  ir::Ints leading(batch_rank);
  for (size_t d = 0; d < batch_rank; ++d) leading[d] = static_cast<int64_t>(d);
  const Shape line = b.shape(rows[0]);
  solveColumn(f, rows, lower, how.unit,
              [&](int64_t i, int64_t j) { return b.broadcast(a(i, j), line, leading); });
  return stacked(b, rows, unknowns);
}

}  // namespace tercel::passes
