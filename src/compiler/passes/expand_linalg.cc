#include "compiler/passes/expand_linalg.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/region_builder.h"
#include "compiler/passes/small_linalg.h"

namespace tercel::passes {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Ints;
using ir::Op;
using ir::OpKind;
using ir::Value;

// Matrices of at most so many rows are done row by row.
constexpr int64_t kBlock = 64;

// Matrices are arrays [batch, rows, columns] of one dtype.
class Matrices {
 public:
  Matrices(Builder& b, DType dtype) : b_(b), dtype_(dtype) {}

  // The operand's matrices in the type they are computed in.
  Value in(Value v) {
    const Dims dims = b_.shape(v).dims;
    const size_t leading = dims.size() - 2;
    const int64_t batch = elementCount(std::span(dims).first(leading));
    return b_.reshape(b_.convert(v, dtype_), {batch, dims[leading], dims[leading + 1]});
  }
  Value out(Value v, const Shape& shape) {
    return b_.convert(b_.reshape(v, shape.dims), shape.dtype);
  }
  Value turned(Value v) { return b_.transpose(v, {0, 2, 1}); }
  Value adjoint(Value v) { return conjugated(b_, turned(v)); }
  Value lowerTriangle(Value v, std::string_view row_against_column = "GE") {
    const Dims dims = b_.shape(v).dims;
    Value rows = b_.iota({DType::s32, dims}, 1), columns = b_.iota({DType::s32, dims}, 2);
    return b_.select(b_.compare(rows, columns, row_against_column), v, b_.splat(b_.shape(v), 0));
  }

  // X with lower X = rhs; what lies above the diagonal is not read.
  Value solve(Value lower, Value rhs, bool unit) {
    const int64_t n = rows(lower);
    if (isSmallTriangle(b_.shape(lower)))
      return smallSolution(b_, entriesOf(b_, lower), rhs, 1, {.lower = true, .unit = unit});
    if (n <= kBlock) return solveByRows(lower, rhs, unit);
    const int64_t blocks = (n + kBlock - 1) / kBlock;
    lower = extended(lower, blocks * kBlock);
    rhs = grown(rhs, blocks * kBlock);
    Value x = solveBlocks(lower, inverses(lower, blocks, unit), rhs, 0, blocks);
    return part(x, 0, n, 0, columns(x));
  }

  Value cholesky(Value a) {
    const int64_t n = rows(a);
    if (isSmallCholesky(b_.shape(a)))
      return lowerTriangle(matricesOf(b_, smallCholesky(b_, entriesOf(b_, a)).factor));
    if (n <= kBlock) return choleskyByColumns(a);
    const int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
    Value first = cholesky(part(a, 0, half, 0, half));
    Value below = adjoint(solve(first, adjoint(part(a, half, n, 0, half)), false));
    Value rest = b_.binary(OpKind::subtract_, part(a, half, n, half, n),
                           product(below, adjoint(below)));
    Value last = cholesky(rest);
    Value zero = b_.splat({dtype_, {batch(a), half, n - half}}, 0);
    return b_.concatenate({b_.concatenate({first, zero}, 2), b_.concatenate({below, last}, 2)}, 1);
  }

 private:
  int64_t batch(Value v) const { return b_.shape(v).dims[0]; }
  int64_t rows(Value v) const { return b_.shape(v).dims[1]; }
  int64_t columns(Value v) const { return b_.shape(v).dims[2]; }

  static Value product(Builder& b, Value x, Value y) {
    return b.build(OpKind::dot_general_, {x, y},
                   {{AttrKey::lhs_batching_dimensions, Ints{0}},
                    {AttrKey::rhs_batching_dimensions, Ints{0}},
                    {AttrKey::lhs_contracting_dimensions, Ints{2}},
                    {AttrKey::rhs_contracting_dimensions, Ints{1}}});
  }
  Value product(Value x, Value y) { return product(b_, x, y); }
  Value part(Value v, int64_t top, int64_t bottom, int64_t left, int64_t right) {
    return b_.slice(v, {0, top, left}, {batch(v), bottom, right}, {1, 1, 1});
  }

  // With rows of zeros behind.
  Value grown(Value v, int64_t to, int64_t more_columns = 0) {
    return b_.pad(v, b_.splat({dtype_, {}}, 0), {0, 0, 0}, {0, to - rows(v), more_columns},
                  {0, 0, 0});
  }
  // With ones on the diagonal behind.
  Value extended(Value v, int64_t to) {
    const int64_t n = rows(v);
    if (n == to) return v;
    Value all = grown(v, to, to - n);
    const Dims dims = b_.shape(all).dims;
    Value row = b_.iota({DType::s32, dims}, 1), column = b_.iota({DType::s32, dims}, 2);
    Value behind = b_.compare(row, b_.splat(b_.shape(row), static_cast<double>(n)), "GE");
    behind = b_.binary(OpKind::and_, behind, b_.compare(row, column, "EQ"));
    return b_.select(behind, b_.splat(b_.shape(all), 1), all);
  }

  Value solveByRows(Value lower, Value rhs, bool unit) {
    const int64_t n = rows(lower);
    Value strict = lowerTriangle(lower, "GT");
    Value start = b_.splat(b_.shape(rhs), 0);
    return ir::countedLoop(b_, n, start, [&](Builder& b, Value i, Value x) {
      Value known = product(b, ir::lineOf(b, strict, 1, i), x);
      Value row = b.binary(OpKind::subtract_, ir::lineOf(b, rhs, 1, i), known);
      if (!unit) {
        Value pivot = ir::lineOf(b, ir::lineOf(b, lower, 1, i), 2, i);
        pivot = b.broadcast(pivot, b.shape(row), {0, 1, 2});
        row = b.binary(OpKind::divide_, row, pivot);
      }
      return ir::withLine(b, x, 1, i, row);
    });
  }

  // The inverses of the blocks on the diagonal: [batch * blocks, kBlock, kBlock].
  Value inverses(Value lower, int64_t blocks, bool unit) {
    Value diagonal;
    for (int64_t k = 0; k < blocks; ++k) {
      Value block = part(lower, k * kBlock, (k + 1) * kBlock, k * kBlock, (k + 1) * kBlock);
      diagonal = diagonal.valid() ? b_.concatenate({diagonal, block}, 0) : block;
    }
    Value ones = extended(b_.splat({dtype_, {batch(diagonal), 0, 0}}, 0), kBlock);
    return solveByRows(diagonal, ones, unit);
  }

  // Of the blocks [first, last): the upper half, then the lower one less what that gives it.
  Value solveBlocks(Value lower, Value inverses, Value rhs, int64_t first, int64_t last) {
    const int64_t g = batch(lower), m = columns(rhs);
    if (last - first == 1) {
      Value inverse = b_.slice(inverses, {first * g, 0, 0}, {(first + 1) * g, kBlock, kBlock},
                               {1, 1, 1});
      return product(inverse, rhs);
    }
    const int64_t middle = (first + last) / 2, half = (middle - first) * kBlock;
    Value upper = solveBlocks(lower, inverses, part(rhs, 0, half, 0, m), first, middle);
    Value beside = part(lower, middle * kBlock, last * kBlock, first * kBlock, middle * kBlock);
    Value rest = b_.binary(OpKind::subtract_, part(rhs, half, rows(rhs), 0, m),
                           product(beside, upper));
    return b_.concatenate({upper, solveBlocks(lower, inverses, rest, middle, last)}, 1);
  }

  Value choleskyByColumns(Value a) {
    const int64_t n = rows(a);
    Value row = b_.iota({DType::s32, {batch(a), n, 1}}, 1);
    Value start = b_.splat(b_.shape(a), 0);
    return ir::countedLoop(b_, n, start, [&](Builder& b, Value i, Value lower) {
      Matrices inner(b, dtype_);
      Value known = product(b, lower, inner.adjoint(ir::lineOf(b, lower, 1, i)));
      Value column = b.binary(OpKind::subtract_, ir::lineOf(b, a, 2, i), known);
      Value pivot = ir::lineOf(b, column, 1, i);
      if (isComplex(dtype_)) pivot = b.convert(b.unary(OpKind::real_, pivot), dtype_);
      pivot = b.unary(OpKind::sqrt_, pivot);
      Value whole = b.broadcast(pivot, b.shape(column), {0, 1, 2});
      Value i_here = b.broadcast(i, b.shape(row), {});
      Value below = b.select(b.compare(row, i_here, "GT"), b.binary(OpKind::divide_, column, whole),
                             b.splat(b.shape(column), 0));
      return ir::withLine(b, lower, 2, i, b.select(b.compare(row, i_here, "EQ"), whole, below));
    });
  }

  Builder& b_;
  DType dtype_;
};

}  // namespace

Value expandCholesky(Builder& b, const Op& op) {
  const Shape shape = b.shape(op.operand(0));
  if (shape.elements() == 0) return b.splat(shape, 0);
  Matrices m(b, computedType(shape.dtype));
  Value a = m.in(op.operand(0));
  if (op.boolean(AttrKey::lower)) return m.out(m.cholesky(a), shape);
  return m.out(m.adjoint(m.cholesky(m.adjoint(a))), shape);
}

// All forms are brought to lower X = B by transposing and reversing.
Value expandTriangularSolve(Builder& b, const Op& op) {
  const Shape shape = b.shape(op.operand(1));
  if (shape.elements() == 0) return b.splat(shape, 0);
  Matrices m(b, computedType(shape.dtype));
  Value a = m.in(op.operand(0)), rhs = m.in(op.operand(1));
  const bool left = op.boolean(AttrKey::left_side);
  const std::string& form = op.symbol(AttrKey::transpose_a);
  bool lower = op.boolean(AttrKey::lower);
  if (form == "ADJOINT") a = conjugated(b, a);
  if ((form != "NO_TRANSPOSE") == left) {
    a = m.turned(a);
    lower = !lower;
  }
  if (!left) rhs = m.turned(rhs);
  if (!lower) a = b.reverse(a, {1, 2}), rhs = b.reverse(rhs, {1});
  Value x = m.solve(a, rhs, op.boolean(AttrKey::unit_diagonal));
  if (!lower) x = b.reverse(x, {1});
  return m.out(left ? x : m.turned(x), shape);
}

}  // namespace tercel::passes
