#include "compiler/ir/cut.h"

#include <algorithm>

#include "compiler/ir/clone.h"
#include "core/integers.h"

namespace tercel::ir {
namespace {

using Cuts = std::optional<std::vector<Cut>>;

size_t at(const Cut& cut) { return static_cast<size_t>(cut.dimension); }

Cuts all(const Op& op, Cut cut) { return std::vector<Cut>(op.operands.size(), cut); }

// The first `count` operands are cut so, the others whole.
Cuts first(const Op& op, size_t count, Cut cut) {
  std::vector<Cut> cuts(op.operands.size());
  std::fill_n(cuts.begin(), count, cut);
  return cuts;
}

Cuts ofBroadcast(const Module& m, const Op& op, Cut cut) {
  const Ints& to = op.ints(AttrKey::broadcast_dimensions);
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] != cut.dimension) continue;
    if (m.shape(op.operand(0)).dims[d] == 1) break;
    return all(op, {static_cast<int64_t>(d), cut.unit});
  }
  return all(op, {});
}

// What comes before the dimension is the same; it may be split, or merged with those after it.
Cuts ofReshape(const Module& m, const Op& op, Cut cut) {
  const Dims &from = m.shape(op.operand(0)).dims, &to = m.shape(op.result()).dims;
  const int64_t batch = to[at(cut)] / cut.unit;
  int64_t before = 1, lines = 1;
  for (size_t d = 0; d < at(cut); ++d) before *= to[d];
  for (size_t d = 0; d < from.size() && lines <= before; lines *= from[d++])
    if (lines == before && from[d] > 1)
      return from[d] % batch == 0 ? all(op, {static_cast<int64_t>(d), from[d] / batch})
                                  : std::nullopt;
  return {};
}

Cuts ofDot(const Module& m, const Op& op, Cut cut) {
  const Ints& lhs_batch = op.ints(AttrKey::lhs_batching_dimensions);
  const Ints& rhs_batch = op.ints(AttrKey::rhs_batching_dimensions);
  const auto batches = static_cast<int64_t>(lhs_batch.size());
  if (cut.dimension < batches)
    return std::vector<Cut>{{lhs_batch[at(cut)], cut.unit}, {rhs_batch[at(cut)], cut.unit}};
  int64_t left = cut.dimension - batches;
  auto free = [&](size_t o, const Ints& batch, const Ints& contracting) -> int64_t {
    for (int64_t d = 0; d < m.shape(op.operand(o)).rank(); ++d)
      if (!contains(batch, d) && !contains(contracting, d) && left-- == 0) return d;
    return -1;
  };
  if (int64_t d = free(0, lhs_batch, op.ints(AttrKey::lhs_contracting_dimensions)); d >= 0)
    return std::vector<Cut>{{d, cut.unit}, {}};
  return std::vector<Cut>{
      {}, {free(1, rhs_batch, op.ints(AttrKey::rhs_contracting_dimensions)), cut.unit}};
}

Cuts ofReduce(const Module& m, const Op& op, Cut cut) {
  const Ints& reduced = op.ints(AttrKey::dimensions);
  int64_t left = cut.dimension;
  for (int64_t d = 0; d < m.shape(op.operand(0)).rank(); ++d)
    if (!contains(reduced, d) && left-- == 0) return first(op, op.operands.size() / 2, {d, cut.unit});
  return {};
}

// Of what the indices say, not of the slices that lie there.
Cuts ofGather(const Module& m, const Op& op, Cut cut) {
  if (contains(op.ints(AttrKey::offset_dims), cut.dimension)) return {};
  const Ints& batches = op.ints(AttrKey::start_indices_batching_dims);
  int64_t left = cut.dimension;
  for (int64_t d : op.ints(AttrKey::offset_dims)) left -= d < cut.dimension;
  for (int64_t d = 0; d < m.shape(op.operand(1)).rank(); ++d) {
    if (d == op.integer(AttrKey::index_vector_dim) || left-- > 0) continue;
    const auto batch = std::ranges::find(batches, d) - batches.begin();
    const bool is_batch = batch < std::ssize(batches);
    const int64_t from =
        is_batch ? op.ints(AttrKey::operand_batching_dims)[static_cast<size_t>(batch)] : -1;
    return std::vector<Cut>{is_batch ? Cut{from, cut.unit} : Cut{}, {d, cut.unit}};
  }
  return {};
}

// Along a dimension that is one of the operand's, whole and by itself.
Cuts ofAffineSlice(const Module& m, const Op& op, Cut cut) {
  const Dims &from = m.shape(op.operand(0)).dims, &to = m.shape(op.result()).dims;
  const Ints& steps = op.ints(AttrKey::steps);
  int64_t along = -1;
  for (size_t d = 0; d < from.size(); ++d) {
    const auto row = std::span(steps).subspan(d * to.size(), to.size());
    if (row[at(cut)] == 0) continue;
    const auto others = static_cast<size_t>(std::ranges::count(row, 0)) + 1 != row.size();
    if (along >= 0 || others || row[at(cut)] != 1 || from[d] != to[at(cut)]) return {};
    along = static_cast<int64_t>(d);
  }
  return along < 0 ? Cuts() : all(op, {along, cut.unit});
}

// Elementwise operands are as large as the result, or single elements for all of it.
Cuts ofElementwise(const Module& m, const Op& op, Cut cut) {
  std::vector<Cut> cuts;
  for (Value v : op.operands) cuts.push_back(m.shape(v).rank() == 0 ? Cut{} : cut);
  return cuts;
}

}  // namespace

Cuts operandCuts(const Module& m, const Op& op, Cut cut) {
  const size_t d = at(cut);
  if (op.kind == OpKind::bitcast_convert_ || op.kind == OpKind::map_) return {};
  if (isElementwise(op.kind)) return ofElementwise(m, op, cut);
  const Dims& dims = m.shape(op.result()).dims;
  switch (op.kind) {
    case OpKind::broadcast_in_dim_: return ofBroadcast(m, op, cut);
    case OpKind::reshape_: return ofReshape(m, op, cut);
    case OpKind::transpose_: return all(op, {op.ints(AttrKey::permutation)[d], cut.unit});
    case OpKind::affine_slice_: return ofAffineSlice(m, op, cut);
    case OpKind::reverse_:
      return contains(op.ints(AttrKey::dimensions), cut.dimension) ? Cuts() : all(op, cut);
    case OpKind::concatenate_:
      return op.integer(AttrKey::dimension) == cut.dimension ? Cuts() : all(op, cut);
    case OpKind::slice_:
      return dims[d] == m.shape(op.operand(0)).dims[d] ? all(op, cut) : Cuts();
    case OpKind::pad_:
      return op.ints(AttrKey::edge_padding_low)[d] == 0 &&
                     op.ints(AttrKey::edge_padding_high)[d] == 0 &&
                     op.ints(AttrKey::interior_padding)[d] == 0
                 ? first(op, 1, cut)
                 : Cuts();
    case OpKind::dynamic_slice_:
      return dims[d] == m.shape(op.operand(0)).dims[d] ? first(op, 1, cut) : Cuts();
    case OpKind::dynamic_update_slice_:
      return dims[d] == m.shape(op.operand(1)).dims[d] ? first(op, 2, cut) : Cuts();
    case OpKind::gather_: return ofGather(m, op, cut);
    case OpKind::dot_general_: return ofDot(m, op, cut);
    case OpKind::reduce_: return ofReduce(m, op, cut);
    default: return {};
  }
}

OpId copyCut(Module& m, const Op& op, Values operands, std::span<const Part> parts) {
  const bool is_slice = op.kind == OpKind::slice_;
  const bool has_sizes = is_slice || op.kind == OpKind::dynamic_slice_;
  const AttrKey key = is_slice ? AttrKey::limit_indices : AttrKey::slice_sizes;
  Ints sizes = has_sizes ? op.ints(key) : Ints();
  std::vector<Type> types;
  for (Value v : op.results) types.push_back(m.type(v));
  for (auto [dimension, lines] : parts) {
    if (dimension < 0) continue;
    const auto d = static_cast<size_t>(dimension);
    for (Type& type : types) type.shape.dims[d] = lines;
    if (has_sizes) sizes[d] = lines;
  }
  const OpId id = m.addOp(op.kind, std::move(operands), types);
  Op& copied = m.op(id);
  copied.attrs = op.attrs;
  copied.loc = op.loc;
  RegionCopier copier(m, m);
  for (RegionId region : op.regions) copied.regions.push_back(copier.copy(region));
  if (has_sizes) copied.set(key, sizes);
  return id;
}

}  // namespace tercel::ir
