// Ops whose elements are sums over loops: evaluated here one output element (or vector) at a time.
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
  auto attr = [&](AttrKey key, size_t d, int64_t otherwise) {
    const auto& list = op.ints(key);
    return list.empty() ? otherwise : list[d];
  };
  Dims extents;
  for (size_t d = 0; d < rank; ++d) extents.push_back(op.ints(AttrKey::window_dimensions)[d]);
  int lanes = anyVaries(indices) ? lanes_ : 1;
  std::vector<Elem> carried;
  for (size_t k = 0; k < n; ++k) carried.push_back(elemWiden(b_, at(op.operand(n + k), {}), lanes));
  return loops(extents, std::move(carried), [&](const Indices& window, std::vector<Elem> args) {
    Indices where(rank);
    Guard inside;
    for (size_t d = 0; d < rank; ++d) {
      Index x = space_.add(space_.scale(indices[d], attr(AttrKey::window_strides, d, 1)),
                           space_.scale(window[d], attr(AttrKey::window_dilations, d, 1)));
      x = space_.subtract(x, Index(attr(AttrKey::padding, 2 * d, 0)));
      where[d] = undilate(x, dims[d], attr(AttrKey::base_dilations, d, 1), inside);
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

Elem Emitter::dotAt(const ir::Op& op, const Indices& indices) {
  const Shape &lhs = m_.shape(op.operand(0)), &rhs = m_.shape(op.operand(1));
  DType out = m_.shape(op.result()).dtype;
  const auto& lb = op.ints(AttrKey::lhs_batching_dimensions);
  const auto& rb = op.ints(AttrKey::rhs_batching_dimensions);
  const auto& lc = op.ints(AttrKey::lhs_contracting_dimensions);
  const auto& rc = op.ints(AttrKey::rhs_contracting_dimensions);
  Dims extents;
  for (int64_t d : lc) extents.push_back(lhs.dims[static_cast<size_t>(d)]);
  int lanes = anyVaries(indices) ? lanes_ : 1;
  // f16 and bf16 accumulate in f32, which is how they are held; the sum is rounded at the end.
  std::vector<Elem> sum = loops(
      extents, {elemWiden(b_, zero(out), lanes)},
      [&](const Indices& k, std::vector<Elem> now) {
        Indices left(lhs.dims.size()), right(rhs.dims.size());
        for (size_t i = 0; i < lb.size(); ++i)
          left[static_cast<size_t>(lb[i])] = right[static_cast<size_t>(rb[i])] = indices[i];
        for (size_t i = 0; i < lc.size(); ++i)
          left[static_cast<size_t>(lc[i])] = right[static_cast<size_t>(rc[i])] = k[i];
        size_t next = lb.size();
        for (size_t d = 0; d < left.size(); ++d)
          if (!contains(lb, d) && !contains(lc, d)) left[d] = indices[next++];
        for (size_t d = 0; d < right.size(); ++d)
          if (!contains(rb, d) && !contains(rc, d)) right[d] = indices[next++];
        Elem a = elemConvert(b_, at(op.operand(0), left), lhs.dtype, out);
        Elem b = elemConvert(b_, at(op.operand(1), right), rhs.dtype, out);
        return std::vector<Elem>{multiplyAdd(a, b, now[0], lhs.dtype, out)};
      });
  return {roundTo(b_, sum[0].re, out), sum[0].im};
}

Elem Emitter::convolutionAt(const ir::Op& op, const Indices& indices) {
  const Shape &lhs = m_.shape(op.operand(0)), &rhs = m_.shape(op.operand(1));
  DType out = m_.shape(op.result()).dtype;
  auto dim = [&](AttrKey key) { return static_cast<size_t>(op.integer(key)); };
  auto attr = [&](AttrKey key, size_t d, int64_t otherwise) {
    const auto& list = op.ints(key);
    return list.empty() ? otherwise : list[d];
  };
  const auto& spatial_in = op.ints(AttrKey::input_spatial_dimensions);
  const auto& spatial_kernel = op.ints(AttrKey::kernel_spatial_dimensions);
  const auto& spatial_out = op.ints(AttrKey::output_spatial_dimensions);
  int64_t groups = std::max<int64_t>(1, op.integer(AttrKey::feature_group_count));
  int64_t batch_groups = std::max<int64_t>(1, op.integer(AttrKey::batch_group_count));
  int64_t kernel_in = rhs.dims[dim(AttrKey::kernel_input_feature_dimension)];
  int64_t kernel_out = rhs.dims[dim(AttrKey::kernel_output_feature_dimension)];
  Dims extents;
  for (int64_t d : spatial_kernel) extents.push_back(rhs.dims[static_cast<size_t>(d)]);
  extents.push_back(kernel_in);
  Index feature = indices[dim(AttrKey::output_feature_dimension)];
  Index batch = indices[dim(AttrKey::output_batch_dimension)];
  if (batch_groups > 1) {
    int64_t in_batch = lhs.dims[dim(AttrKey::input_batch_dimension)] / batch_groups;
    Index group = space_.quotient(feature, kernel_out / batch_groups);
    batch = space_.add(space_.scale(group, in_batch), batch);
  }
  Index first_feature =
      groups == 1 ? Index(0)
                  : space_.scale(space_.quotient(feature, kernel_out / groups), kernel_in);
  int lanes = anyVaries(indices) ? lanes_ : 1;
  auto sum = loops(extents, {elemWiden(b_, zero(out), lanes)},
                   [&](const Indices& k, std::vector<Elem> now) {
    Indices left(lhs.dims.size()), right(rhs.dims.size());
    left[dim(AttrKey::input_batch_dimension)] = batch;
    left[dim(AttrKey::input_feature_dimension)] = space_.add(first_feature, k.back());
    right[dim(AttrKey::kernel_input_feature_dimension)] = k.back();
    right[dim(AttrKey::kernel_output_feature_dimension)] = feature;
    Guard inside;
    for (size_t s = 0; s < spatial_in.size(); ++s) {
      size_t in = static_cast<size_t>(spatial_in[s]);
      Index window = k[s];
      bool reversed = attr(AttrKey::window_reversal, s, 0) != 0;
      right[static_cast<size_t>(spatial_kernel[s])] =
          reversed ? space_.subtract(Index(extents[s] - 1), window) : window;
      const Index& o = indices[static_cast<size_t>(spatial_out[s])];
      Index x = space_.add(space_.scale(o, attr(AttrKey::window_strides, s, 1)),
                           space_.scale(window, attr(AttrKey::rhs_dilation, s, 1)));
      x = space_.subtract(x, Index(attr(AttrKey::padding, 2 * s, 0)));
      left[in] = undilate(x, lhs.dims[in], attr(AttrKey::lhs_dilation, s, 1), inside);
    }
    return guarded(inside, [&] {
      Elem a = elemConvert(b_, at(op.operand(0), left), lhs.dtype, out);
      Elem b = elemConvert(b_, at(op.operand(1), right), rhs.dtype, out);
      Elem next = multiplyAdd(a, b, now[0], lhs.dtype, out);
      return std::vector<Elem>{selectWhere(conditionOf(inside), next, now[0])};
    });
  });
  return {roundTo(b_, sum[0].re, out), sum[0].im};
}

}  // namespace tercel::kernel
