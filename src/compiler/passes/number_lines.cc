// Gathers of lines whose places are several numbers each, as x[i, j] has them: one number each,
// made for many lines at once, where kernels would work out one place at a time.
#include <algorithm>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/element_range.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewestNumberedLines = 16, kShortestLine = 4;

class Numbering : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool visit(OpId id) override {
    if (op(id).kind != OpKind::gather_ || !isWorthwhile(op(id))) return false;
    const Op gather = op(id);
    const Values operands{reshape(gather.operand(0), joined(gather, shape(gather.operand(0)).dims)),
                          numbers(gather)};
    replace(gather.result(),
            emit(OpKind::gather_, operands, shape(gather.result()), renumbered(gather)));
    return true;
  }

 private:
  // What the numbers count lies side by side, one element of each at a place.
  bool isWorthwhile(const Op& op) const {
    const Ints& map = op.ints(AttrKey::start_index_map);
    if (map.size() < 2 || lines(op) < kFewestNumberedLines || isMadeWhereRead(op)) return false;
    const auto [first, last] = std::ranges::minmax(map);
    if (last - first >= static_cast<int64_t>(map.size())) return false;
    const Ints& dropped = op.ints(AttrKey::collapsed_slice_dims);
    if (!std::ranges::all_of(map, [&](int64_t d) { return contains(dropped, d); })) return false;
    const Dims& dims = shape(op.operand(0)).dims;
    const int64_t all = elementCount(std::span(dims).subspan(first, map.size()));
    return all > 0 && all <= rangeOfType(DType::s32).high && hasRange(shape(op.operand(1)).dtype) &&
           shape(op.result()).elements() >= kShortestLine * lines(op);
  }

  int64_t lines(const Op& op) const {
    return shape(op.operand(1)).elements() /
           static_cast<int64_t>(op.ints(AttrKey::start_index_map).size());
  }

  // Work on elements may be done where they are gathered, by the coordinates that they have.
  bool isMadeWhereRead(const Op& op) const {
    const Op* made = def(op.operand(0));
    if (!made) return false;
    switch (made->kind) {
      case OpKind::broadcast_in_dim_: case OpKind::concatenate_: case OpKind::dynamic_slice_:
      case OpKind::gather_: case OpKind::iota_: case OpKind::pad_: case OpKind::reverse_:
      case OpKind::slice_: case OpKind::transpose_:
        return true;
      default:
        return isElementwise(made->kind);
    }
  }

  int64_t firstNumbered(const Op& op) const {
    return std::ranges::min(op.ints(AttrKey::start_index_map));
  }

  // Sizes with those of all that is numbered as one.
  template <class Sizes>
  Sizes joined(const Op& op, const Sizes& sizes) const {
    const auto first = static_cast<size_t>(firstNumbered(op));
    const size_t last = first + op.ints(AttrKey::start_index_map).size() - 1;
    Sizes to;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (d > first && d <= last) {
        to.back() *= sizes[d];
      } else {
        to.push_back(sizes[d]);
      }
    }
    return to;
  }

  Attrs renumbered(const Op& op) const {
    const int64_t first = firstNumbered(op), vector = op.integer(AttrKey::index_vector_dim),
                  count = op.ints(AttrKey::start_index_map).size();
    auto moved = [&](const Ints& dimensions) {
      Ints to;
      for (int64_t d : dimensions)
        if (d <= first || d >= first + count) to.push_back(d <= first ? d : d - count + 1);
      return to;
    };
    Attrs attrs = op.attrs;
    for (auto& [key, attr] : attrs) switch (key) {
        case AttrKey::start_index_map:
          attr = Ints{first};
          break;
        case AttrKey::collapsed_slice_dims:
        case AttrKey::operand_batching_dims:
          attr = moved(std::get<Ints>(attr));
          break;
        case AttrKey::start_indices_batching_dims:
          for (int64_t& d : std::get<Ints>(attr)) d -= d > vector;
          break;
        case AttrKey::index_vector_dim:
          attr = shape(op.operand(1)).rank() - 1;
          break;
        case AttrKey::slice_sizes:
          attr = joined(op, std::get<Ints>(attr));
          break;
        default:
          break;
      }
    return attrs;
  }

  Value numbers(const Op& op) {
    const Ints& map = op.ints(AttrKey::start_index_map);
    const Dims& dims = shape(op.operand(0)).dims;
    auto along = [&](int64_t d) {
      const int64_t k = std::ranges::find(map, d) - map.begin();
      return convert(clamped(number(op, k), dims[d] - 1), DType::s32);
    };
    const int64_t first = firstNumbered(op), last = first + static_cast<int64_t>(map.size()) - 1;
    Value all = along(first);
    for (int64_t d = first + 1; d <= last; ++d) {
      const Value lines = like(all, static_cast<double>(dims[d]));
      all = binary(OpKind::add_, binary(OpKind::multiply_, all, lines), along(d));
    }
    return all;
  }

  // Number k of all places.
  Value number(const Op& op, int64_t k) {
    const auto vector = static_cast<size_t>(op.integer(AttrKey::index_vector_dim));
    Value all = op.operand(1);
    if (const Op* parts = def(all, OpKind::concatenate_);
        parts && parts->integer(AttrKey::dimension) == static_cast<int64_t>(vector)) {
      for (const Value part : parts->operands) {
        all = part;
        if (k < shape(part).dims[vector]) break;
        k -= shape(part).dims[vector];
      }
    }
    Dims dims = shape(all).dims;
    if (dims[vector] > 1) all = sliceAlong(all, vector, k, k + 1);
    dims.erase(vector);
    return reshape(all, dims);
  }

  Value clamped(Value v, int64_t last) {
    const Range range = ranges_.of(*this, v), all = rangeOfType(shape(v).dtype);
    if (range.low >= 0 && range.high <= last) return v;
    const Shape single{shape(v).dtype, {}};
    const auto high = static_cast<double>(std::min(last, all.high));
    return emit(OpKind::clamp_, {splat(single, 0), v, splat(single, high)}, shape(v));
  }

  ElementRanges ranges_;
};

}  // namespace

PassResult numberLines(Module& module) { return Numbering(module).run(); }

}  // namespace tercel::passes
