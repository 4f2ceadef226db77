#include "compiler/passes/expand_reduce.h"

#include <algorithm>

#include "compiler/eval/evaluation.h"
#include "compiler/ir/clone.h"
#include "compiler/passes/monoid.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kLargeReduction = 1 << 17;  // elements worth a second reduction
constexpr int64_t kMinParts = 8, kEnoughParts = 16, kMaxParts = 64;
constexpr int64_t kFewReducedRows = 4, kFewColumns = 1024;
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
  if (std::ranges::find(reduced, in.rank() - 1) != reduced.end()) return kept < kFewReducedRows;
  bool shared = read_again && in.elements() / kept <= kManyRows;
  if (in.bytes() >= kInMemory && !read_again && kept > kFewColumns) {
    if (in.elements() / kept < kEnoughRows) return false;
    const int64_t row = innermost * byteSize(in.dtype);
    return kept / innermost * ((row + kLongRow - 1) / kLongRow) < kMinParts;
  }
  return kept <= (shared ? kFewSharedColumns : kFewColumns) && kept / innermost < kMinParts;
}

Shape keptShape(const Shape& in, const Ints& reduced) {
  Shape kept{in.dtype, {}};
  for (int64_t d = 0; d < in.rank(); ++d)
    if (std::ranges::find(reduced, d) == reduced.end())
      kept.dims.push_back(in.dims[static_cast<size_t>(d)]);
  return kept;
}

struct Cut {
  size_t dimension = 0;
  int64_t parts = 0, size = 0;  // parts * size >= the dimension's extent
  int64_t missing(const Shape& in) const { return parts * size - in.dims[dimension]; }
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
  int64_t missing = cut.missing(padded);
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

// Whether neighbours along the dimensions `first` to `last` are so in all memory that v is made of.
bool isFlat(const Rewriter& rw, Value v, int64_t first, int64_t last, int& budget) {
  auto isInside = [&](int64_t d) { return d >= first && d <= last; };
  const Op* op = rw.def(v);
  if (!op) return true;
  if (--budget < 0) return false;
  if (isElementwise(op->kind))
    return std::ranges::all_of(
        op->operands, [&](Value from) { return isFlat(rw, from, first, last, budget); });
  switch (op->kind) {
    case OpKind::broadcast_in_dim_:
      return std::ranges::none_of(op->ints(AttrKey::broadcast_dimensions), isInside) ||
             rw.shape(op->operand(0)).elements() == 1;
    case OpKind::reshape_:
      return isFlat(rw, op->operand(0), 0, rw.shape(op->operand(0)).rank() - 1, budget);
    case OpKind::constant_: case OpKind::dot_general_: case OpKind::convolution_:
    case OpKind::reduce_: case OpKind::while_: case OpKind::custom_call_:
      return true;
    default: return false;
  }
}

// Of neighbouring reduced dimensions one is made, where that moves nothing: of thin ones a vector
// would hold little.
void joinReduced(Rewriter& rw, Values& inputs, Ints& reduced) {
  constexpr int kOpsLookedAt = 32;
  for (size_t i = reduced.size(); i-- > 1;) {
    const int64_t first = reduced[i - 1];
    int budget = kOpsLookedAt;
    if (reduced[i] != first + 1 || !std::ranges::all_of(inputs, [&](Value v) {
          return isFlat(rw, v, first, first + 1, budget);
        }))
      continue;
    Dims dims = rw.shape(inputs[0]).dims;
    dims[static_cast<size_t>(first)] *= dims[static_cast<size_t>(first) + 1];
    dims.erase(static_cast<size_t>(first) + 1);
    for (Value& v : inputs) v = rw.reshape(v, dims);
    reduced.erase(reduced.begin() + static_cast<int64_t>(i));
    for (size_t later = i; later < reduced.size(); ++later) --reduced[later];
  }
}

// Whether the results are elements of the operands, whatever their order: argmax.
bool onlyChooses(const Module& m, RegionId body) {
  return std::ranges::all_of(m.region(body).ops, [&](OpId id) {
    switch (m.op(id).kind) {
      case OpKind::compare_: case OpKind::select_: case OpKind::and_: case OpKind::or_:
      case OpKind::not_: case OpKind::maximum_: case OpKind::minimum_:
        return true;
      default: return false;
    }
  });
}

// Whether parts of what is reduced may each begin with the inits.
bool isDivisible(const Rewriter& rw, const Op& o) {
  const Module& m = rw.module();
  const size_t lanes = o.results.size();
  if (lanes == 1) {
    auto kind = reducerKind(m, o.regions[0]);
    const bool is_complex = isComplex(rw.shape(o.operand(0)).dtype);
    return kind && !is_complex && isRepeatable(rw, *kind, o.operand(1));
  }
  if (!onlyChooses(m, o.regions[0]) || usesOuterValues(m, o)) return false;
  std::vector<Literal> init;
  for (size_t k = 0; k < lanes; ++k) {
    const Op* constant = rw.def(o.operand(lanes + k), OpKind::constant_);
    if (!constant) return false;
    init.push_back(constant->literal());
  }
  std::vector<Literal> twice = init;
  twice.insert(twice.end(), init.begin(), init.end());
  auto result = eval::Evaluation(m, {}).runRegion(o.regions[0], twice);
  return result.ok() && *result == init;
}

// Of an array of few columns: how many neighbouring rows fill a few vectors best, those that divide
// all rows first. 1 where it has enough columns, or not many times those rows.
int64_t rowsTogether(const Shape& in, int64_t rows) {
  constexpr int64_t kVector = 64, kFewest = 2, kMost = 8, kTimes = 8;
  constexpr double kFull = 0.7;
  const int64_t columns = in.dims.back(), lanes = kVector / byteSize(in.dtype);
  if (columns == 0 || columns >= kFewest * lanes) return 1;
  int64_t best = 1, any = 1;
  double fullest = kFull, fullest_of_any = 0;
  for (int64_t n = 2; n * columns <= kMost * lanes && n * kTimes <= rows; ++n) {
    const int64_t elements = n * columns, room = (elements + lanes - 1) / lanes * lanes;
    const double full = static_cast<double>(elements) / static_cast<double>(room);
    if (elements < kFewest * lanes) continue;
    if (full >= fullest_of_any) fullest_of_any = full, any = n;
    if (rows % n == 0 && full >= fullest) fullest = full, best = n;
  }
  return best > 1 ? best : any;
}

Value widened(Rewriter& rw, Value v) {
  const DType dtype = rw.shape(v).dtype;
  return isHalfFloat(dtype) ? rw.convert(v, DType::f32) : v;
}

// `inputs` reduced as `old` reduces its own.
Values reduceAgain(Rewriter& rw, const Op& old, Values inputs, const Values& inits,
                   const Ints& dimensions) {
  if (inputs.size() == 1) {
    const OpKind kind = *reducerKind(rw.module(), old.regions[0]);
    return {reduceBy(rw, kind, inputs[0], inits[0], dimensions)};
  }
  std::vector<Type> types;
  for (Value v : inputs) types.push_back(Type{keptShape(rw.shape(v), dimensions)});
  for (Value v : inits) inputs.push_back(v);
  Module& m = rw.module();
  OpId id = m.addOp(OpKind::reduce_, std::move(inputs), types);
  m.op(id).attrs = {{AttrKey::dimensions, dimensions}};
  const RegionId body = RegionCopier(m, m).copy(old.regions[0]);
  m.op(id).regions.push_back(body);
  Values results = m.op(id).results;
  rw.place(id);
  for (Value& v : results) v = rw.now(v);
  return results;
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
  Shape result = keptShape(rw.shape(v), dimensions);
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
  const size_t lanes = o.results.size();
  Ints reduced = o.ints(AttrKey::dimensions);
  if (reduced.empty() || rw.shape(o.operand(0)).elements() < kLargeReduction) return false;
  const bool read_again = rw.otherUses(o.operand(0)) > 0;
  if (!hasFewTasks(rw.shape(o.operand(0)), reduced, read_again) || !isDivisible(rw, o))
    return false;
  Values inputs, inits;
  // Partial results are not rounded to 16 bits.
  for (size_t k = 0; k < 2 * lanes; ++k)
    (k < lanes ? inputs : inits).push_back(lanes > 1 ? o.operand(k) : widened(rw, o.operand(k)));
  Cut cut = cutOf(rw.shape(inputs[0]), reduced);
  if (cut.missing(rw.shape(inputs[0])) > 0) {
    joinReduced(rw, inputs, reduced);
    cut = cutOf(rw.shape(inputs[0]), reduced);
  }
  if (cut.parts < kMinParts || (cut.size == 1 && reduced.size() == 1)) return false;
  const auto at = static_cast<int64_t>(cut.dimension);
  const bool reshaped = cut.size > 1;  // else its elements are the parts
  Ints within;
  for (int64_t d : reduced)
    if (reshaped || d != at) within.push_back(d + (reshaped && d >= at ? 1 : 0));
  if (reshaped)
    for (size_t k = 0; k < lanes; ++k) inputs[k] = inParts(rw, inputs[k], inits[k], cut);
  int64_t parts_at = at - std::ranges::count_if(reduced, [&](int64_t d) { return d < at; });
  Values partial = reduceAgain(rw, o, std::move(inputs), inits, within);
  Values whole = reduceAgain(rw, o, std::move(partial), inits, {parts_at});
  for (size_t k = 0; k < lanes; ++k)
    rw.replace(o.results[k], rw.convert(whole[k], rw.shape(o.results[k]).dtype));
  return true;
}

bool fillColumns(Rewriter& rw, OpId id) {
  constexpr int kOpsLookedAt = 32;
  const Op o = rw.op(id);
  const Ints& reduced = o.ints(AttrKey::dimensions);
  Shape in = rw.shape(o.operand(0));
  const auto count = static_cast<int64_t>(reduced.size());
  // Neighbours, ahead of the last one.
  if (o.results.size() != 1 || count == 0 || reduced[reduced.size() - 1] != in.rank() - 2 ||
      reduced[0] != in.rank() - 1 - count)
    return false;
  const int64_t at = reduced[0];
  int64_t rows = 1;
  for (int64_t d : reduced) rows *= in.dims[static_cast<size_t>(d)];
  const int64_t together = rowsTogether(in, rows);
  int budget = kOpsLookedAt;
  if (together == 1 || !isDivisible(rw, o) ||
      !isFlat(rw, o.operand(0), at, in.rank() - 1, budget))
    return false;
  for (int64_t d = 1; d < count; ++d) in.dims.erase(static_cast<size_t>(at));
  in.dims[static_cast<size_t>(at)] = rows;  // one dimension
  const OpKind kind = *reducerKind(rw.module(), o.regions[0]);
  const Value init = widened(rw, o.operand(1));
  const Value all = rw.reshape(widened(rw, o.operand(0)), in.dims);
  const auto row = static_cast<size_t>(at);
  const int64_t even = rows / together * together;
  const Value most = even == rows ? all : rw.sliceAlong(all, row, 0, even);
  Dims wide = in.dims, apart = in.dims;
  wide[row] = even / together;
  wide.back() *= together;
  apart[row] = together;
  const Value partial = reduceBy(rw, kind, rw.reshape(most, wide), init, {at});
  Value whole = reduceBy(rw, kind, rw.reshape(partial, apart), init, {at});
  if (even < rows) {
    const Value rest = reduceBy(rw, kind, rw.sliceAlong(all, row, even, rows), init, {at});
    whole = rw.emit(kind, {whole, rest}, rw.shape(whole));
  }
  rw.replace(o.result(), rw.convert(whole, rw.shape(o.result()).dtype));
  return true;
}

}  // namespace tercel::passes
