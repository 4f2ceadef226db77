#include "compiler/stablehlo/reflectors.h"

#include <algorithm>

#include "compiler/ir/region_builder.h"

namespace tercel::stablehlo {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Ints;
using ir::OpKind;
using ir::Value;

// Arithmetic of arrays [batch, rows, columns]; a dimension of size 1 goes with any size.
class Columns {
 public:
  explicit Columns(Builder& b) : b_(b) {}

  Value binary(OpKind kind, Value x, Value y) {
    Dims dims;
    for (size_t d = 0; d < 3; ++d)
      dims.push_back(std::max(b_.shape(x).dims[d], b_.shape(y).dims[d]));
    return b_.binary(kind, spread(x, dims), spread(y, dims));
  }
  Value multiply(Value x, Value y) { return binary(OpKind::multiply_, x, y); }
  Value subtract(Value x, Value y) { return binary(OpKind::subtract_, x, y); }
  Value divide(Value x, Value y) { return binary(OpKind::divide_, x, y); }
  Value select(Value pred, Value x, Value y) {
    return b_.select(spread(pred, b_.shape(y).dims), spread(x, b_.shape(y).dims), y);
  }
  Value spread(Value v, const Dims& dims) {
    if (b_.shape(v).dims == dims) return v;
    return b_.broadcast(v, {b_.shape(v).dtype, dims}, {0, 1, 2});
  }
  Value number(Value like, double n) { return b_.splat(b_.shape(like), n); }
  Value index(Value like, size_t dimension) {
    Dims dims;
    for (size_t d = 0; d < 3; ++d) dims.push_back(d == dimension ? b_.shape(like).dims[d] : 1);
    return b_.iota({DType::s32, dims}, static_cast<int64_t>(dimension));
  }
  Value against(Value index, Value i, std::string_view direction) {
    return b_.compare(index, b_.broadcast(i, b_.shape(index), {}), direction);
  }
  Value real(Value v) { return is_complex(v) ? b_.unary(OpKind::real_, v) : v; }
  Value complex(Value real, DType dtype) { return b_.convert(real, dtype); }
  Value conjugated(Value v) {
    if (!is_complex(v)) return v;
    Value im = b_.unary(OpKind::negate_, b_.unary(OpKind::imag_, v));
    return b_.binary(OpKind::complex_, real(v), im);
  }
  // |v|^2, real.
  Value squared(Value v) { return real(multiply(v, conjugated(v))); }
  // Over the rows.
  Value sum(Value v) {
    const int64_t batch = b_.shape(v).dims[0], columns = b_.shape(v).dims[2];
    return b_.reshape(ir::sumOver(b_, v, {1}), {batch, 1, columns});
  }
  // (I - tau v v^H) of each column.
  Value reflected(Value columns, Value v, Value tau) {
    Value along = b_.build(OpKind::dot_general_, {conjugated(v), columns},
                           {{AttrKey::lhs_batching_dimensions, Ints{0}},
                            {AttrKey::rhs_batching_dimensions, Ints{0}},
                            {AttrKey::lhs_contracting_dimensions, Ints{1}},
                            {AttrKey::rhs_contracting_dimensions, Ints{1}}});
    return subtract(columns, multiply(multiply(tau, v), along));
  }
  bool is_complex(Value v) const { return isComplex(b_.shape(v).dtype); }

 private:
  Builder& b_;
};

// [..., m, n] as [batch, m, n] in the type that it is computed in.
Value flattened(Builder& b, Value a) {
  const Shape shape = b.shape(a);
  const size_t leading = shape.dims.size() - 2;
  const int64_t batch = elementCount(std::span(shape.dims).first(leading));
  return b.reshape(b.convert(a, computedType(shape.dtype)),
                   {batch, shape.dims[leading], shape.dims[leading + 1]});
}

// One step: the reflector that clears column j below row j, applied to the columns behind. The last
// row of `packed` takes the taus; no reflector reaches it.
Value clearColumn(Builder& b, Value j, Value packed) {
  Columns c(b);
  const DType dtype = b.shape(packed).dtype;
  const int64_t last = b.shape(packed).dims[1] - 1;
  Value column = ir::lineOf(b, packed, 2, j), alpha = ir::lineOf(b, column, 1, j);
  Value row = c.index(column, 1);
  Value is_last = b.compare(row, c.number(row, static_cast<double>(last)), "EQ");
  Value below = b.binary(OpKind::and_, c.against(row, j, "GT"), b.unary(OpKind::not_, is_last));
  Value here = c.against(row, j, "EQ");
  Value tail = c.select(below, column, c.number(column, 0));
  Value rest = c.sum(c.squared(tail));
  Value length = b.unary(OpKind::sqrt_, b.binary(OpKind::add_, c.squared(alpha), rest));
  Value is_positive = b.compare(c.real(alpha), c.number(length, 0), "GE");
  Value beta = b.select(is_positive, b.unary(OpKind::negate_, length), length);
  beta = c.complex(beta, dtype);
  Value is_done = b.compare(rest, c.number(rest, 0), "EQ");
  if (c.is_complex(alpha)) {
    Value imaginary = b.unary(OpKind::imag_, alpha);
    is_done = b.binary(OpKind::and_, is_done,
                       b.compare(imaginary, c.number(imaginary, 0), "EQ"));
  }
  Value tau = c.divide(c.subtract(beta, alpha), beta);
  tau = b.select(is_done, c.number(tau, 0), tau);
  Value scale = b.select(is_done, c.number(alpha, 1), c.subtract(alpha, beta));
  Value v = c.select(here, c.number(alpha, 1), c.divide(tail, scale));
  Value turned = c.reflected(packed, v, c.conjugated(tau));
  Value behind = c.against(c.index(packed, 2), j, "GT");
  packed = c.select(behind, turned, packed);
  column = c.select(below, v, column);
  column = c.select(here, b.select(is_done, alpha, beta), column);
  return ir::withLine(b, packed, 2, j, c.select(is_last, tau, column));
}

}  // namespace

ir::Values factorise(Builder& b, Value a) {
  const Shape shape = b.shape(a);
  Value packed = flattened(b, a);
  const Dims dims = b.shape(packed).dims;
  const int64_t batch = dims[0], m = dims[1], n = dims[2], count = std::min(m, n);
  Value zero = b.splat({b.shape(packed).dtype, {}}, 0);
  packed = b.pad(packed, zero, {0, 0, 0}, {0, 1, 0}, {0, 0, 0});
  packed = ir::countedLoop(b, count, packed, clearColumn);
  auto part = [&](int64_t top, int64_t bottom, int64_t right) {
    Value v = b.slice(packed, {0, top, 0}, {batch, bottom, right}, {1, 1, 1});
    return b.convert(v, shape.dtype);
  };
  Dims taus(shape.dims.begin(), shape.dims.end() - 2);
  taus.push_back(count);
  return {b.reshape(part(0, m, n), shape.dims), b.reshape(part(m, m + 1, count), taus)};
}

Value multiplyReflectors(Builder& b, Value a, Value taus) {
  const Shape shape = b.shape(a);
  const int64_t count = b.shape(taus).dims.back();
  Value v = flattened(b, a);
  const Dims dims = b.shape(v).dims;
  const DType dtype = b.shape(v).dtype;
  taus = b.reshape(b.convert(taus, dtype), {dims[0], count, 1});
  Columns c(b);
  Value diagonal = b.compare(b.iota({DType::s32, dims}, 1), b.iota({DType::s32, dims}, 2), "EQ");
  Value start = b.select(diagonal, c.number(v, 1), c.number(v, 0));
  Value product = ir::countedLoop(b, count, start, [&](Builder& inner, Value k, Value q) {
    Columns in(inner);
    Value last = inner.splat({DType::s32, {}}, static_cast<double>(count - 1));
    Value i = inner.binary(OpKind::subtract_, last, k);
    Value column = ir::lineOf(inner, v, 2, i), row = in.index(column, 1);
    column = in.select(in.against(row, i, "GT"), column, in.number(column, 0));
    column = in.select(in.against(row, i, "EQ"), in.number(column, 1), column);
    return in.reflected(q, column, ir::lineOf(inner, taus, 1, i));
  });
  return b.reshape(b.convert(product, shape.dtype), shape.dims);
}

}  // namespace tercel::stablehlo
