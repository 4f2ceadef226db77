#include "compiler/passes/expand_complex_product.h"

namespace tercel::passes {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Op;
using ir::OpKind;
using ir::Value;

int64_t sizeOver(const Shape& shape, const ir::Ints& dimensions) {
  int64_t size = 1;
  for (int64_t d : dimensions) size *= shape.dims[static_cast<size_t>(d)];
  return size;
}

// Each matrix is read twice more, once to take it apart: its columns must be worth it.
bool isWorthIt(const Shape& lhs, const Shape& rhs, const Op& op) {
  constexpr int64_t kLeast = 16;
  const int64_t batch = sizeOver(lhs, op.ints(AttrKey::lhs_batching_dimensions));
  const int64_t summed = sizeOver(lhs, op.ints(AttrKey::lhs_contracting_dimensions));
  if (batch == 0 || summed < kLeast) return false;
  const int64_t shared = batch * summed;
  return lhs.elements() / shared >= kLeast && rhs.elements() / shared >= kLeast;
}

}  // namespace

Value expandComplexProduct(Builder& b, const Op& op) {
  const Value lhs = op.operand(0), rhs = op.operand(1);
  const DType dtype = b.shape(op.result()).dtype;
  if (!isComplex(dtype) || b.shape(lhs).dtype != dtype || b.shape(rhs).dtype != dtype ||
      !isWorthIt(b.shape(lhs), b.shape(rhs), op))
    return {};
  auto product = [&](OpKind left, OpKind right) {
    return b.build(OpKind::dot_general_, {b.unary(left, lhs), b.unary(right, rhs)}, op.attrs);
  };
  constexpr OpKind kRe = OpKind::real_, kIm = OpKind::imag_;
  Value re = b.binary(OpKind::subtract_, product(kRe, kRe), product(kIm, kIm));
  Value im = b.binary(OpKind::add_, product(kRe, kIm), product(kIm, kRe));
  return b.binary(OpKind::complex_, re, im);
}

}  // namespace tercel::passes
