// Gathers at places that follow from the coordinates, as x[jnp.arange(n)[::-1]] and
// x[hop * i[:, None] + j] have them: slices, turned, repeated and joined, or one affine_slice.
#include <algorithm>

#include "compiler/passes/affine_places.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr size_t kMaxPieces = 4;
constexpr int64_t kFewestCut = 64;  // elements along which a cut pays

// A part of the result, and where its elements lie in each dimension of the operand.
struct Piece {
  Box box;
  std::vector<Affine> places;
};

// A view: the place in dimension d is starts[d] and the sum of steps[d][j] times coordinate j.
struct Steps {
  Dims extents;
  Ints starts;
  std::vector<Ints> steps;
};

class GatherSearch {
 public:
  GatherSearch(const Rewriter& rw, const Op& gather) : rw_(rw), gather_(gather) {}

  std::vector<Piece> run() {
    const Dims& dims = rw_.shape(gather_.operand(0)).dims;
    const Dims& to = rw_.shape(gather_.result()).dims;
    if (elementCount(dims) == 0 || !find({Ints(to.size(), 0), to})) return {};
    return std::move(pieces_);
  }
  int64_t along() const { return along_; }

 private:
  bool find(const Box& box) {
    AffinePlaces affine(rw_, box);
    if (auto places = placesIn(affine)) {
      pieces_.push_back({box, std::move(*places)});
      return true;
    }
    if (!affine.cut() || ++cuts_ >= kMaxPieces) return false;
    const auto [dimension, at] = *affine.cut();
    if (along_ >= 0 && along_ != static_cast<int64_t>(dimension)) return false;
    along_ = static_cast<int64_t>(dimension);
    const Dims& to = rw_.shape(gather_.result()).dims;
    if (elementCount(std::span(to).subspan(dimension)) < kFewestCut) return false;
    Box low = box, high = box;
    low.extents[dimension] = at;
    high.low[dimension] += at;
    high.extents[dimension] -= at;
    return find(low) && find(high);
  }

  std::optional<std::vector<Affine>> placesIn(AffinePlaces& affine) const {
    const Op& op = gather_;
    const Dims& dims = rw_.shape(op.operand(0)).dims;
    const Ints &windows = op.ints(AttrKey::offset_dims), &map = op.ints(AttrKey::start_index_map);
    const Ints &batching = op.ints(AttrKey::operand_batching_dims),
               &of_starts = op.ints(AttrKey::start_indices_batching_dims);
    const auto vector = static_cast<size_t>(op.integer(AttrKey::index_vector_dim));
    std::vector<Affine> where, places(dims.size());
    for (int64_t d = 0; d < rw_.shape(op.result()).rank(); ++d)
      if (!contains(windows, d)) where.push_back(affine.coordinate(static_cast<size_t>(d)));
    for (size_t k = 0; k < batching.size(); ++k) {
      const auto in = static_cast<size_t>(of_starts[k]);
      places[static_cast<size_t>(batching[k])] = where[in - (in > vector)];
    }
    const bool has_vectors = vector < rw_.shape(op.operand(1)).dims.size();
    if (has_vectors) where.insert(where.begin() + static_cast<ptrdiff_t>(vector), Affine());
    for (size_t k = 0; k < map.size(); ++k) {
      if (has_vectors) where[vector].constant = static_cast<int64_t>(k);
      const auto d = static_cast<size_t>(map[k]);
      auto start = affine.at(op.operand(1), where);
      if (start) start = affine.clamped(*start, dims[d] - op.ints(AttrKey::slice_sizes)[d]);
      if (!start) return {};
      places[d] = *start;
    }
    addWindows(affine, places);
    return places;
  }

  void addWindows(const AffinePlaces& affine, std::vector<Affine>& places) const {
    size_t next = 0;
    for (size_t d = 0; d < places.size(); ++d) {
      const auto dimension = static_cast<int64_t>(d);
      if (contains(gather_.ints(AttrKey::collapsed_slice_dims), dimension) ||
          contains(gather_.ints(AttrKey::operand_batching_dims), dimension))
        continue;
      const auto window = static_cast<size_t>(gather_.ints(AttrKey::offset_dims)[next++]);
      places[d] = sum(places[d], affine.coordinate(window));
    }
  }

  const Rewriter& rw_;
  const Op& gather_;
  std::vector<Piece> pieces_;
  int64_t along_ = -1;
  size_t cuts_ = 0;
};

// A coordinate's digits, the first counting the most: where each begins, and where the last ends.
// Empty where those that are asked for overlap.
Ints digitsOf(const std::vector<Affine>& places, size_t dimension, int64_t extent) {
  Ints begins = {1, extent};
  for (const Affine& a : places)
    for (const Affine::Term& t : a.terms)
      if (t.digit.dimension == dimension) {
        begins.push_back(t.digit.divisor);
        begins.push_back(t.digit.divisor * t.digit.extent);
      }
  std::ranges::sort(begins);
  Ints once;
  for (int64_t b : begins)
    if (once.empty() || once.back() != b) once.push_back(b);
  for (size_t i = 1; i < once.size(); ++i)
    if (once[i] % once[i - 1] != 0) return {};
  std::ranges::reverse(once);
  return once;
}

// With a dimension for each digit.
std::optional<Steps> stepsOf(const Piece& piece) {
  Steps view;
  view.steps.resize(piece.places.size());
  for (const Affine& a : piece.places) view.starts.push_back(a.constant);
  for (size_t j = 0; j < piece.box.extents.size(); ++j) {
    const Ints begins = digitsOf(piece.places, j, piece.box.extents[j]);
    if (begins.empty()) return {};
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      const int64_t begin = begins[i + 1];
      view.extents.push_back(begins[i] / begin);
      for (size_t d = 0; d < piece.places.size(); ++d) {
        int64_t step = 0;
        for (const auto& [digit, factor] : piece.places[d].terms)
          if (digit.dimension == j && digit.divisor <= begin &&
              begins[i] <= digit.divisor * digit.extent)
            step += factor * (begin / digit.divisor);
        view.steps[d].push_back(step);
      }
    }
  }
  return view;
}

// For each dimension of the operand the one that goes along it, or -1; nothing where there are
// several, or one goes along two.
std::optional<Ints> dimensionsAlong(const Steps& view) {
  Ints along(view.steps.size(), -1);
  for (size_t j = 0; j < view.extents.size(); ++j) {
    bool goes = false;
    for (size_t d = 0; d < along.size(); ++d) {
      if (view.steps[d][j] == 0) continue;
      if (goes || along[d] >= 0) return {};
      along[d] = static_cast<int64_t>(j);
      goes = true;
    }
  }
  return along;
}

Value sliced(Rewriter& rw, Value x, const Steps& view, const Ints& along) {
  Ints start = view.starts, limit, strides, turned, order;
  Dims kept;
  for (size_t d = 0; d < along.size(); ++d) {
    const bool goes = along[d] >= 0;
    const int64_t step = goes ? view.steps[d][static_cast<size_t>(along[d])] : 1;
    const int64_t extent = goes ? view.extents[static_cast<size_t>(along[d])] : 1;
    if (step < 0) {
      start[d] += step * (extent - 1);
      turned.push_back(static_cast<int64_t>(d));
    }
    strides.push_back(std::abs(step));
    limit.push_back(start[d] + std::abs(step) * (extent - 1) + 1);
    if (goes) kept.push_back(extent);
    if (goes) order.push_back(along[d]);
  }
  Value part = rw.slice(x, start, limit, strides);
  if (!turned.empty()) part = rw.reverse(part, turned);
  part = rw.reshape(part, kept);
  Ints sorted = range(static_cast<int64_t>(order.size()));
  std::ranges::sort(sorted, {}, [&](int64_t i) { return order[static_cast<size_t>(i)]; });
  part = rw.transpose(part, sorted);
  std::ranges::sort(order);
  return rw.broadcast(part, view.extents, order);
}

Value viewed(Rewriter& rw, Value x, const Steps& view) {
  if (const auto along = dimensionsAlong(view)) return sliced(rw, x, view, *along);
  Ints steps;
  for (const Ints& of : view.steps) steps.insert(steps.end(), of.begin(), of.end());
  return rw.emit(OpKind::affine_slice_, {x}, {rw.shape(x).dtype, view.extents},
                 {{AttrKey::start_indices, view.starts}, {AttrKey::steps, steps}});
}

}  // namespace

Value canonicalGather(Rewriter& rw, const Op& op) {
  if (op.kind != OpKind::gather_ || !rw.def(op.operand(1))) return {};
  GatherSearch search(rw, op);
  const std::vector<Piece> pieces = search.run();
  std::vector<Steps> views;
  for (const Piece& piece : pieces) {
    auto view = stepsOf(piece);
    if (!view) return {};
    views.push_back(std::move(*view));
  }
  if (views.empty()) return {};
  const Value x = op.operand(0);
  const Shape to = rw.shape(op.result());
  Values parts;
  for (size_t i = 0; i < views.size(); ++i)
    parts.push_back(rw.reshape(viewed(rw, x, views[i]), pieces[i].box.extents));
  if (parts.size() == 1) return parts[0];
  return rw.emit(OpKind::concatenate_, parts, to, {{AttrKey::dimension, search.along()}});
}

}  // namespace tercel::passes
