#include "compiler/passes/expand_window.h"

#include <algorithm>

#include "compiler/ir/prefix_scan.h"
#include "compiler/passes/expand_reduce.h"
#include "compiler/passes/monoid.h"

namespace tercel::passes {
using namespace ir;
namespace {

// Steps that an element costs which is written to memory and read again, and those of a long window
// by running reductions.
constexpr int64_t kMemorySteps = 4, kScanSteps = 24;

// The window along one dimension.
struct Line {
  size_t dimension;
  int64_t window, stride, low, high;
  int64_t extent, count;  // elements before and after
};

struct Windows {
  Value operand, init;
  OpKind kind;
  std::vector<Line> lines;
};

int64_t entry(const Ints& list, size_t at, int64_t otherwise) {
  return list.empty() ? otherwise : list[at];
}

// False where something is dilated.
bool findLines(const Rewriter& rw, const Op& o, std::vector<Line>& lines) {
  const Dims &from = rw.shape(o.operand(0)).dims, &to = rw.shape(o.result()).dims;
  for (size_t d = 0; d < from.size(); ++d) {
    if (entry(o.ints(AttrKey::base_dilations), d, 1) != 1 ||
        entry(o.ints(AttrKey::window_dilations), d, 1) != 1)
      return false;
    const Ints& padding = o.ints(AttrKey::padding);
    Line line{d, o.ints(AttrKey::window_dimensions)[d],
              entry(o.ints(AttrKey::window_strides), d, 1), entry(padding, 2 * d, 0),
              entry(padding, 2 * d + 1, 0), from[d], to[d]};
    if (line.window != 1 || line.stride != 1 || line.low != 0 || line.high != 0)
      lines.push_back(line);
  }
  return true;
}

Value reduceWindow(Rewriter& rw, const Windows& w, Value v, const Line& line) {
  Shape result = rw.shape(v);
  size_t rank = result.dims.size();
  result.dims[line.dimension] = line.count;
  Ints one(rank, 1), window = one, strides = one, padding(2 * rank, 0);
  window[line.dimension] = line.window;
  strides[line.dimension] = line.stride;
  padding[2 * line.dimension] = line.low;
  padding[2 * line.dimension + 1] = line.high;
  Type type{result, false};
  Module& m = rw.module();
  OpId id = m.addOp(OpKind::reduce_window_, {v, w.init}, {&type, 1});
  m.op(id).attrs = {{AttrKey::window_dimensions, window},
                    {AttrKey::window_strides, strides},
                    {AttrKey::base_dilations, one},
                    {AttrKey::window_dilations, one},
                    {AttrKey::padding, padding}};
  m.op(id).regions.push_back(reducerOf(rw, w.kind, result.dtype));
  rw.place(id);
  return rw.now(m.op(id).result());
}

Value padAlong(Rewriter& rw, Value v, Value with, size_t d, int64_t low, int64_t high) {
  Shape shape = rw.shape(v);
  Ints none(shape.dims.size(), 0), lows = none, highs = none;
  lows[d] = low;
  highs[d] = high;
  shape.dims[d] += low + high;
  return rw.emit(OpKind::pad_, {v, with}, shape,
                 {{AttrKey::edge_padding_low, lows},
                  {AttrKey::edge_padding_high, highs},
                  {AttrKey::interior_padding, none}});
}

// `count` elements from `start`, `stride` apart.
Value sliceAlong(Rewriter& rw, Value v, const Line& line, int64_t start) {
  const Dims dims = rw.shape(v).dims;
  Ints first(dims.size(), 0), limit(dims.begin(), dims.end()), strides(dims.size(), 1);
  first[line.dimension] = start;
  limit[line.dimension] = start + (line.count - 1) * line.stride + 1;
  strides[line.dimension] = line.stride;
  return rw.slice(v, first, limit, strides);
}

// In blocks as long as the window, each window is the end of one block and the beginning of the
// next: reductions that run backwards and forwards within blocks have both.
Value longWindow(Rewriter& rw, const Windows& w, Value v, const Line& line) {
  size_t d = line.dimension;
  int64_t last = (line.count - 1) * line.stride + line.window;  // where the last window ends
  int64_t blocks = last / line.window + 1;
  v = padAlong(rw, v, w.init, d, line.low, blocks * line.window - line.low - line.extent);
  const Dims flat = rw.shape(v).dims;
  Dims cut = flat;
  cut[d] = line.window;
  cut.insert(d, blocks);
  Value in_blocks = rw.reshape(v, cut);
  Line scan{d + 1, line.window, 1, 0, line.window - 1, line.window, line.window};
  Value to_end = reduceWindow(rw, w, in_blocks, scan);
  std::swap(scan.low, scan.high);
  Value from_begin = reduceWindow(rw, w, in_blocks, scan);
  Value before = padAlong(rw, from_begin, w.init, d + 1, 1, -1);
  return rw.binary(w.kind, sliceAlong(rw, rw.reshape(to_end, flat), line, 0),
                   sliceAlong(rw, rw.reshape(before, flat), line, line.window));
}

bool isLong(const Line& line) {
  return line.count * line.window > kScanSteps * (line.extent + line.window);
}

// Steps of one place. Vectors of results lie along the last dimension: of windows that lie apart
// there, several are loaded for one, with masks where some are padding.
double placeSteps(const Line& line, size_t rank) {
  constexpr int64_t kMostLoads = 8, kMasked = 2;
  if (line.dimension + 1 != rank || line.stride == 1) return 1;
  const bool is_padded = line.low > 0 || line.high > 0;
  return static_cast<double>(std::min(line.stride, kMostLoads) * (is_padded ? kMasked : 1));
}

// Whether a pass over memory for each dimension costs less than all places of the whole window.
bool isWide(const Windows& w, int64_t elements, size_t rank) {
  double at_once = 1, apart = 0, left = 1;
  for (const Line& line : w.lines) {
    at_once *= static_cast<double>(line.window) * placeSteps(line, rank);
    left *= static_cast<double>(line.extent);
  }
  for (const Line& line : w.lines) {
    left = left / static_cast<double>(line.extent) * static_cast<double>(line.count);
    apart += left * (static_cast<double>(line.window) * placeSteps(line, rank) + kMemorySteps);
  }
  double result = 1;
  for (const Line& line : w.lines) result *= static_cast<double>(line.count);
  return elements > 0 && w.lines.size() > 1 && result * at_once > 2 * apart;
}

}  // namespace

bool splitWindow(Rewriter& rw, OpId id) {
  const Op o = rw.op(id);
  if (o.operands.size() != 2 || prefixScan(rw.module(), o)) return false;
  const Shape in = rw.shape(o.operand(0)), out = rw.shape(o.result());
  if (isComplex(in.dtype) || in.elements() == 0 || out.elements() == 0) return false;
  auto kind = reducerKind(rw.module(), o.regions[0]);
  if (!kind || !isRepeatable(rw, *kind, o.operand(1))) return false;
  Windows w{o.operand(0), o.operand(1), *kind, {}};
  if (!findLines(rw, o, w.lines)) return false;
  bool alone = w.lines.size() == 1 && isLong(w.lines[0]);
  const auto rank = static_cast<size_t>(in.rank());
  if (!alone && !isWide(w, out.elements(), rank)) return false;
  // Partial results are not rounded to 16 bits.
  DType wide = computedType(in.dtype);
  w.init = rw.convert(w.init, wide);
  Value v = rw.convert(w.operand, wide);
  // Those that leave least come first.
  std::ranges::stable_sort(w.lines, [](const Line& a, const Line& b) {
    return a.count * b.extent < b.count * a.extent;
  });
  for (const Line& line : w.lines)
    v = alone ? longWindow(rw, w, v, line) : reduceWindow(rw, w, v, line);
  rw.replace(o.result(), rw.convert(v, in.dtype));
  return true;
}

}  // namespace tercel::passes
