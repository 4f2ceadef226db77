// Ops whose elements are sums over loops: evaluated here one output element (or vector) at a time.
#include "compiler/kernel/contraction.h"
#include "compiler/kernel/elem_tiny.h"
#include "compiler/kernel/emitter.h"
#include "core/integers.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;

constexpr int64_t kUnroll = 4;  // loops up to this many trips are written out,
constexpr int64_t kMostCopies = 64;  // nested ones up to so many in all,
constexpr int64_t kMostInside = 16;  // in one that is not, up to so many

// Whether the first of nested loops is written out: inner ones come first. outer: the places in the
// loops around, which are constant where those are written out.
bool isWrittenOut(std::span<const int64_t> extents, const Indices& outer) {
  const bool is_inside = !std::ranges::all_of(outer, &Index::isConstant);
  const int64_t most = is_inside ? kMostInside : kMostCopies;
  int64_t copies = 1;
  bool is_written_out = false;
  for (size_t i = extents.size(); i-- > 0;) {
    is_written_out = extents[i] <= kUnroll && copies * extents[i] <= most;
    if (is_written_out) copies *= extents[i];
  }
  return is_written_out;
}

int64_t entryOf(const ir::Op& op, AttrKey key, size_t d, int64_t otherwise) {
  const ir::Ints& list = op.ints(key);
  return list.empty() ? otherwise : list[d];
}

}  // namespace

std::vector<Elem> Emitter::loops(std::span<const int64_t> extents, std::vector<Elem> carried,
                                 const LoopBody& body, Indices outer) {
  if (extents.empty()) return body(outer, std::move(carried));
  auto trip = [&](Index i, std::vector<Elem> now) {
    Indices inner = outer;
    inner.push_back(i);
    return loops(extents.subspan(1), std::move(now), body, std::move(inner));
  };
  auto widened = [&](const Elem& x, const Elem& like) {
    return elemWiden(b_, x, b_.type(like.re).lanes);
  };
  int64_t extent = extents[0];
  if (isWrittenOut(extents, outer)) {
    for (int64_t i = 0; i < extent; ++i) {
      std::vector<Elem> next = scope([&] { return trip(Index(i), carried); });
      for (size_t k = 0; k < carried.size(); ++k) carried[k] = widened(next[k], carried[k]);
    }
    return carried;
  }
  auto last = b_.forLoop(b_.index(0), b_.index(extent), 1, flatten(carried),
                         [&](V i, std::span<const V> now) {
    std::vector<Elem> next =
        scope([&] { return trip(space_.loop(i, extent), unflatten(now, carried)); });
    for (size_t k = 0; k < next.size(); ++k) next[k] = widened(next[k], carried[k]);
    return flatten(next);
  });
  return unflatten(last, carried);
}

std::vector<Elem> Emitter::reduceAt(const ir::Op& op, const Indices& indices) {
  size_t n = op.operands.size() / 2;
  const auto& reduced = op.ints(AttrKey::dimensions);
  const Dims& dims = m_.shape(op.operand(0)).dims;
  Dims extents;
  for (size_t d = 0; d < dims.size(); ++d)
    if (contains(reduced, d)) extents.push_back(dims[d]);
  int lanes = anyVaries(indices) ? lanes_ : 1;
  std::vector<Elem> carried;
  for (size_t k = 0; k < n; ++k) carried.push_back(elemWiden(b_, at(op.operand(n + k), {}), lanes));
  return loops(extents, std::move(carried), [&](const Indices& inner, std::vector<Elem> args) {
    Indices where;
    for (size_t d = 0, kept = 0, in = 0; d < dims.size(); ++d)
      where.push_back(contains(reduced, d) ? inner[in++] : indices[kept++]);
    for (size_t k = 0; k < n; ++k) args.push_back(at(op.operand(k), where));
    return addInOrder(op, args);
  });
}

std::vector<Elem> Emitter::reduceWindowAt(const ir::Op& op, const Indices& indices) {
  size_t n = op.operands.size() / 2, rank = indices.size();
  const Dims& dims = m_.shape(op.operand(0)).dims;
  Dims extents;
  for (size_t d = 0; d < rank; ++d) extents.push_back(op.ints(AttrKey::window_dimensions)[d]);
  int lanes = anyVaries(indices) ? lanes_ : 1;
  std::vector<Elem> carried;
  for (size_t k = 0; k < n; ++k) carried.push_back(elemWiden(b_, at(op.operand(n + k), {}), lanes));
  return loops(extents, std::move(carried), [&](const Indices& window, std::vector<Elem> args) {
    Indices where(rank);
    Guard inside;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t stride = entryOf(op, AttrKey::window_strides, d, 1);
      const int64_t dilation = entryOf(op, AttrKey::window_dilations, d, 1);
      Index x = space_.add(space_.scale(indices[d], stride), space_.scale(window[d], dilation));
      x = space_.subtract(x, Index(entryOf(op, AttrKey::padding, 2 * d, 0)));
      where[d] = undilate(x, dims[d], entryOf(op, AttrKey::base_dilations, d, 1), inside);
    }
    return guarded(inside, [&] {
      std::vector<Elem> all = args;
      for (size_t k = 0; k < n; ++k) all.push_back(at(op.operand(k), where));
      std::vector<Elem> next = runRegion(op.regions[0], all);
      for (size_t k = 0; k < n; ++k) next[k] = selectWhere(conditionOf(inside), next[k], args[k]);
      return next;
    });
  });
}

Elem Emitter::zero(DType dtype) {
  if (isPred(dtype)) return {b_.constant({Scalar::i1, 1}, 0), {}};
  Type type{computedScalar(dtype), 1};
  V v = b_.constant(type, 0);
  return {v, isComplex(dtype) ? v : V{}};
}

// sum + a * b in the precision that products of `in` accumulate in; `out` is the result's dtype.
Elem Emitter::multiplyAdd(const Elem& a, const Elem& b, const Elem& sum, DType in, DType out) {
  if (isComplex(out)) {
    V re = b_.fma(a.re, b.re, sum.re), im = b_.fma(a.re, b.im, sum.im);
    return {b_.fma(b_.unary(Opcode::fneg, a.im), b.im, re), b_.fma(a.im, b.re, im)};
  }
  if (isPred(out)) return {b_.binary(Opcode::or_, sum.re, b_.binary(Opcode::and_, a.re, b.re)), {}};
  (void)in;
  if (in_doubles && out == DType::f32)
    return {b_.fadd(multiplyInDoubles(b_, a.re, b.re), sum.re), {}};
  if (isFloat(out)) return {b_.fma(a.re, b.re, sum.re), {}};
  return {b_.iadd(sum.re, b_.imul(a.re, b.re)), {}};
}

Elem Emitter::factorAt(const ir::Op& op, size_t operand, const Indices& indices) {
  const ir::Value factor = op.operand(operand);
  return elemConvert(b_, at(factor, indices), m_.shape(factor).dtype, m_.shape(op.result()).dtype);
}

// f16 and bf16 accumulate in f32, which is how they are held; the sum is rounded at the end.
Elem Emitter::addUpProducts(const ir::Op& op, const Contraction& product, const Indices& indices,
                            const std::function<Elem(const Indices&, const Elem&)>& next) {
  const DType out = m_.shape(op.result()).dtype;
  const int lanes = anyVaries(indices) ? lanes_ : 1;
  const std::vector<Elem> sum = loops(product.extents(), {elemWiden(b_, zero(out), lanes)},
                                      [&](const Indices& k, const std::vector<Elem>& now) {
                                        return std::vector<Elem>{next(k, now[0])};
                                      });
  return rounded(sum[0], out);
}

Elem Emitter::dotAt(const ir::Op& op, const Indices& indices) {
  const Contraction product(m_, op);
  const DType in = m_.shape(op.operand(0)).dtype, out = m_.shape(op.result()).dtype;
  return addUpProducts(op, product, indices, [&](const Indices& k, const Elem& sum) {
    const Elem a = factorAt(op, 0, product.lhs(space_, indices, k));
    const Elem b = factorAt(op, 1, product.rhs(space_, indices, k));
    return multiplyAdd(a, b, sum, in, out);
  });
}

// From the window's places in the padded, dilated input to those in the input itself.
Guard Emitter::insideInput(const ir::Op& op, Indices& places) {
  const Dims& dims = m_.shape(op.operand(0)).dims;
  const ir::Ints& spatial = op.ints(AttrKey::input_spatial_dimensions);
  Guard inside;
  for (size_t s = 0; s < spatial.size(); ++s) {
    const auto d = static_cast<size_t>(spatial[s]);
    const Index x = space_.subtract(places[d], Index(entryOf(op, AttrKey::padding, 2 * s, 0)));
    places[d] = undilate(x, dims[d], entryOf(op, AttrKey::lhs_dilation, s, 1), inside);
  }
  return inside;
}

Elem Emitter::convolutionAt(const ir::Op& op, const Indices& indices) {
  const Contraction product(m_, op);
  const DType in = m_.shape(op.operand(0)).dtype, out = m_.shape(op.result()).dtype;
  return addUpProducts(op, product, indices, [&](const Indices& k, const Elem& sum) {
    Indices left = product.lhs(space_, indices, k);
    const Indices right = product.rhs(space_, indices, k);
    const Guard inside = insideInput(op, left);
    return guarded(inside, [&] {
      const Elem a = factorAt(op, 0, left), b = factorAt(op, 1, right);
      return selectWhere(conditionOf(inside), multiplyAdd(a, b, sum, in, out), sum);
    });
  });
}

}  // namespace tercel::kernel
