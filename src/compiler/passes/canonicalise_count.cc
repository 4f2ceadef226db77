// Integers that are made of iota and constants alone: the counters of random bits, which JAX counts
// in 64 bits along each dimension.
#include <algorithm>

#include "compiler/passes/affine_places.h"
#include "compiler/passes/lower_bits.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kMostCounted = INT32_MAX;

bool repeats(OpKind kind) {
  return kind == OpKind::broadcast_in_dim_ || kind == OpKind::reshape_;
}

bool isMadeOfIota(const Rewriter& rw, Value v, int depth) {
  const Op* op = rw.def(v);
  if (!op || depth == 0) return false;
  if (op->kind == OpKind::iota_ || op->kind == OpKind::constant_) return true;
  auto made = [&](Value operand) { return isMadeOfIota(rw, operand, depth - 1); };
  return (repeats(op->kind) || keepsLowerBits(op->kind)) &&
         std::ranges::all_of(op->operands, made);
}

bool isCounted(const Rewriter& rw, const Op& op) {
  constexpr int kDepth = 8;
  return op.kind != OpKind::constant_ && isMadeOfIota(rw, op.result(), kDepth);
}

}  // namespace

Value narrowedCount(Rewriter& rw, const Op& op, DType to) {
  if (byteSize(to) < 4 || !isCounted(rw, op)) return {};
  const Shape result{to, rw.shape(op.result()).dims};
  const OpKind kind = op.kind;
  if (kind == OpKind::iota_ && result.dims[op.integer(AttrKey::iota_dimension)] > kMostCounted)
    return {};
  Values operands = op.operands;
  const Attrs attrs = op.attrs;
  for (Value& v : operands) v = rw.convert(v, to);
  return rw.emit(kind, operands, result, attrs);
}

Value countedInOrder(Rewriter& rw, const Op& add) {
  const Shape shape = rw.shape(add.result());
  const int64_t count = shape.elements();
  if (shape.rank() < 2 || !isInteger(shape.dtype) || byteSize(shape.dtype) < 4 ||
      count > kMostCounted || !isCounted(rw, add))
    return {};
  const Box box{Ints(shape.dims.size(), 0), shape.dims};
  AffinePlaces places(rw, box);
  std::vector<Affine> coordinates;
  Affine in_order;
  int64_t stride = count;
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    coordinates.push_back(places.coordinate(d));
    stride /= shape.dims[d];
    Affine step = coordinates.back();
    for (Affine::Term& term : step.terms) term.factor = stride;
    in_order = sum(in_order, step);
  }
  if (places.at(add.result(), coordinates) != in_order) return {};
  const Value line = rw.emit(OpKind::iota_, {}, {shape.dtype, {count}},
                             {{AttrKey::iota_dimension, int64_t{0}}});
  return rw.reshape(line, shape.dims);
}

}  // namespace tercel::passes
