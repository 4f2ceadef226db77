#include "compiler/passes/expand_reduce.h"

#include <algorithm>

#include "compiler/passes/monoid.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kLarge = 1 << 17;  // elements worth a second reduction
constexpr int64_t kMinParts = 8, kEnoughParts = 16, kMaxParts = 64;
constexpr int64_t kFewRows = 4, kFewColumns = 1024;
// What comes from memory is read a row after another, each by one core.
constexpr int64_t kInMemory = 8 << 20, kLongRow = 64 << 10;  // bytes
constexpr int64_t kEnoughRows = 512;
// What is read again with the result, as by a softmax, is better kept in one kernel, where that has
// some columns to share. Each row is a page of memory, of which there must not be too many.
constexpr int64_t kFewSharedColumns = 255, kManyRows = 2048;

// Whether the kept dimensions give the cores nothing to share: a kernel goes along whole rows, or
// along columns of the innermost kept dimension.
bool hasFewTasks(const Shape& in, const Ints& reduced, bool read_again) {
  int64_t kept = 1, innermost = 1;
  for (int64_t d = 0; d < in.rank(); ++d) {
    if (std::ranges::find(reduced, d) != reduced.end()) continue;
    innermost = in.dims[static_cast<size_t>(d)];
    kept *= innermost;
  }
  if (std::ranges::find(reduced, in.rank() - 1) != reduced.end()) return kept < kFewRows;
  bool shared = read_again && in.elements() / kept <= kManyRows;
  if (in.bytes() >= kInMemory && !read_again && kept > kFewColumns) {
    if (in.elements() / kept < kEnoughRows) return false;
    const int64_t row = innermost * byteSize(in.dtype);
    return kept / innermost * ((row + kLongRow - 1) / kLongRow) < kMinParts;
  }
  return kept <= (shared ? kFewSharedColumns : kFewColumns) && kept / innermost < kMinParts;
}

struct Cut {
  size_t dimension = 0;
  int64_t parts = 0, size = 0;  // parts * size >= the dimension's extent
};

// The first reduced dimension that has enough elements, whose parts lie together, else the longest.
// Its elements are the parts where that leaves enough to be reduced in each.
Cut cutOf(const Shape& in, const Ints& reduced) {
  constexpr int64_t kMostElements = 512, kLongPart = 32;
  Cut cut;
  int64_t extent = 0;
  for (int64_t d : reduced) {
    int64_t own = in.dims[static_cast<size_t>(d)];
    if (extent >= kEnoughParts || own <= extent) continue;
    extent = own;
    cut.dimension = static_cast<size_t>(d);
  }
  int64_t all = 1;
  for (int64_t d : reduced) all *= in.dims[static_cast<size_t>(d)];
  if (extent <= kMostElements && all >= kLongPart * extent) return {cut.dimension, extent, 1};
  for (cut.parts = kMaxParts; cut.parts >= kMinParts; --cut.parts)
    if (extent % cut.parts == 0) break;
  if (cut.parts < kMinParts) {
    cut.size = (extent + kMaxParts - 1) / kMaxParts;
    cut.parts = (extent + cut.size - 1) / cut.size;
  }
  cut.size = (extent + cut.parts - 1) / cut.parts;
  return cut;
}

// x with the dimension in parts, the last one filled up with `init`.
Value inParts(Rewriter& rw, Value x, Value init, const Cut& cut) {
  Shape padded = rw.shape(x);
  int64_t missing = cut.parts * cut.size - padded.dims[cut.dimension];
  padded.dims[cut.dimension] += missing;
  if (missing > 0) {
    Ints none(padded.dims.size(), 0), high = none;
    high[cut.dimension] = missing;
    x = rw.emit(OpKind::pad_, {x, init}, padded,
                {{AttrKey::edge_padding_low, none},
                 {AttrKey::edge_padding_high, high},
                 {AttrKey::interior_padding, none}});
  }
  Dims dims = padded.dims;
  dims[cut.dimension] = cut.size;
  dims.insert(cut.dimension, cut.parts);
  return rw.reshape(x, dims);
}

}  // namespace

bool isRepeatable(const Rewriter& rw, OpKind kind, Value init) {
  const Op* constant = rw.def(init, OpKind::constant_);
  if (!constant) return false;
  switch (kind) {
    case OpKind::maximum_: case OpKind::minimum_: case OpKind::and_: case OpKind::or_: return true;
    case OpKind::add_: return constant->literal().number(0) == 0;
    case OpKind::multiply_: return constant->literal().number(0) == 1;
    default: return false;
  }
}

RegionId reducerOf(Rewriter& rw, OpKind kind, DType dtype) {
  Type scalar{Shape{dtype, {}}, false};
  Module& m = rw.module();
  RegionId body = m.addRegion();
  Value a = m.addArg(body, scalar), b = m.addArg(body, scalar);
  OpId combine = m.addOp(kind, {a, b}, {&scalar, 1});
  m.region(body).ops.push_back(combine);
  m.region(body).results.push_back(m.op(combine).result());
  return body;
}

Value reduceBy(Rewriter& rw, OpKind kind, Value v, Value init, Ints dimensions) {
  Shape result{rw.shape(v).dtype, {}};
  for (int64_t d = 0; d < rw.shape(v).rank(); ++d)
    if (std::ranges::find(dimensions, d) == dimensions.end())
      result.dims.push_back(rw.shape(v).dims[static_cast<size_t>(d)]);
  Type type{result, false};
  Module& m = rw.module();
  OpId id = m.addOp(OpKind::reduce_, {v, init}, {&type, 1});
  m.op(id).attrs = {{AttrKey::dimensions, std::move(dimensions)}};
  m.op(id).regions.push_back(reducerOf(rw, kind, result.dtype));
  rw.place(id);
  return rw.now(m.op(id).result());
}

bool splitReduce(Rewriter& rw, OpId id) {
  const Op o = rw.op(id);
  const Ints reduced = o.ints(AttrKey::dimensions);
  if (o.operands.size() != 2 || reduced.empty()) return false;
  const Shape in = rw.shape(o.operand(0));
  bool read_again = rw.otherUses(o.operand(0)) > 0;
  if (in.elements() < kLarge || isComplex(in.dtype) || !hasFewTasks(in, reduced, read_again))
    return false;
  auto kind = reducerKind(rw.module(), o.regions[0]);
  if (!kind || !isRepeatable(rw, *kind, o.operand(1))) return false;
  Cut cut = cutOf(in, reduced);
  if (cut.parts < kMinParts || (cut.size == 1 && reduced.size() == 1)) return false;
  // Partial results are not rounded to 16 bits.
  bool narrow = in.dtype == DType::f16 || in.dtype == DType::bf16;
  DType wide = narrow ? DType::f32 : in.dtype;
  Value init = rw.convert(o.operand(1), wide), x = rw.convert(o.operand(0), wide);
  const auto at = static_cast<int64_t>(cut.dimension);
  const bool reshaped = cut.size > 1;  // else its elements are the parts
  Ints within;
  for (int64_t d : reduced)
    if (reshaped || d != at) within.push_back(d + (reshaped && d >= at ? 1 : 0));
  if (reshaped) x = inParts(rw, x, init, cut);
  Value partial = reduceBy(rw, *kind, x, init, within);
  int64_t parts_at = at - std::ranges::count_if(reduced, [&](int64_t d) { return d < at; });
  rw.replace(o.result(), rw.convert(reduceBy(rw, *kind, partial, init, {parts_at}), in.dtype));
  return true;
}

}  // namespace tercel::passes
