#include "compiler/kernel/contraction.h"

#include <algorithm>

#include "core/integers.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;

// Of a side of a dot: batch dimensions from the front of `out`, the sum's from k, the others from
// `first_free` on.
Indices dotSide(size_t rank, const ir::Ints& batch, const ir::Ints& summed, const Indices& out,
                const Indices& k, size_t first_free) {
  Indices indices(rank);
  for (size_t i = 0; i < batch.size(); ++i) indices[static_cast<size_t>(batch[i])] = out[i];
  for (size_t i = 0; i < summed.size(); ++i) indices[static_cast<size_t>(summed[i])] = k[i];
  for (size_t d = 0; d < rank; ++d)
    if (!contains(batch, d) && !contains(summed, d)) indices[d] = out[first_free++];
  return indices;
}

bool isZero(const ir::Op* op) {
  return op && op->kind == ir::OpKind::constant_ && op->literal().isSplat() &&
         std::ranges::all_of(op->literal().bytes(), [](std::byte b) { return b == std::byte{}; });
}

}  // namespace

Contraction::Contraction(const ir::Module& module, const ir::Op& op) : m_(module), op_(op) {
  if (op.kind == ir::OpKind::dot_general_) {
    for (int64_t d : op.ints(AttrKey::lhs_contracting_dimensions))
      extents_.push_back(m_.shape(op.operand(0)).dims[static_cast<size_t>(d)]);
    return;
  }
  const Dims& kernel = m_.shape(op.operand(1)).dims;
  for (int64_t d : op.ints(AttrKey::kernel_spatial_dimensions))
    extents_.push_back(kernel[static_cast<size_t>(d)]);
  auto feature = static_cast<size_t>(op.integer(AttrKey::kernel_input_feature_dimension));
  extents_.push_back(kernel[feature]);
}

bool Contraction::simple() const {
  if (op_.kind == ir::OpKind::dot_general_) return true;
  auto all = [&](AttrKey key, int64_t value) {
    const auto& list = op_.ints(key);
    return std::all_of(list.begin(), list.end(), [&](int64_t x) { return x == value; });
  };
  return all(AttrKey::lhs_dilation, 1) && all(AttrKey::padding, 0);
}

Indices Contraction::lhs(IndexSpace& space, const Indices& out, const Indices& k) const {
  size_t rank = m_.shape(op_.operand(0)).dims.size();
  if (op_.kind == ir::OpKind::dot_general_) {
    const auto& batch = op_.ints(AttrKey::lhs_batching_dimensions);
    return dotSide(rank, batch, op_.ints(AttrKey::lhs_contracting_dimensions), out, k,
                   batch.size());
  }
  auto dim = [&](AttrKey key) { return static_cast<size_t>(op_.integer(key)); };
  auto attr = [&](AttrKey key, size_t s) { return op_.ints(key).empty() ? 1 : op_.ints(key)[s]; };
  Indices indices(rank);
  const Dims& out_dims = m_.shape(op_.result()).dims;
  // Output features of a group read the input's features, or its batch, of that group.
  const Index& feature = out[dim(AttrKey::output_feature_dimension)];
  auto inGroup = [&](AttrKey count, const Index& within, int64_t size) {
    int64_t groups = std::max<int64_t>(1, op_.integer(count));
    if (groups == 1) return within;
    int64_t features = out_dims[dim(AttrKey::output_feature_dimension)];
    return space.add(space.scale(space.quotient(feature, features / groups), size), within);
  };
  indices[dim(AttrKey::input_batch_dimension)] =
      inGroup(AttrKey::batch_group_count, out[dim(AttrKey::output_batch_dimension)],
              out_dims[dim(AttrKey::output_batch_dimension)]);
  indices[dim(AttrKey::input_feature_dimension)] =
      inGroup(AttrKey::feature_group_count, k.back(), extents_.back());
  const auto& spatial = op_.ints(AttrKey::input_spatial_dimensions);
  const auto& spatial_out = op_.ints(AttrKey::output_spatial_dimensions);
  for (size_t s = 0; s < spatial.size(); ++s)
    indices[static_cast<size_t>(spatial[s])] =
        space.add(space.scale(out[static_cast<size_t>(spatial_out[s])],
                              attr(AttrKey::window_strides, s)),
                  space.scale(k[s], attr(AttrKey::rhs_dilation, s)));
  return indices;
}

Indices Contraction::rhs(IndexSpace& space, const Indices& out, const Indices& k) const {
  size_t rank = m_.shape(op_.operand(1)).dims.size();
  if (op_.kind == ir::OpKind::dot_general_) {
    const auto& batch = op_.ints(AttrKey::rhs_batching_dimensions);
    size_t lhs_free = m_.shape(op_.operand(0)).dims.size() - batch.size() - extents_.size();
    return dotSide(rank, batch, op_.ints(AttrKey::rhs_contracting_dimensions), out, k,
                   batch.size() + lhs_free);
  }
  auto dim = [&](AttrKey key) { return static_cast<size_t>(op_.integer(key)); };
  Indices indices(rank);
  indices[dim(AttrKey::kernel_input_feature_dimension)] = k.back();
  indices[dim(AttrKey::kernel_output_feature_dimension)] =
      out[dim(AttrKey::output_feature_dimension)];
  const auto& spatial = op_.ints(AttrKey::kernel_spatial_dimensions);
  const auto& reversal = op_.ints(AttrKey::window_reversal);
  for (size_t s = 0; s < spatial.size(); ++s) {
    bool reversed = !reversal.empty() && reversal[s] != 0;
    indices[static_cast<size_t>(spatial[s])] =
        reversed ? space.subtract(Index(extents_[s] - 1), k[s]) : k[s];
  }
  return indices;
}

bool isVectorProduct(const ir::Module& m, const ir::Op& dot) {
  const Shape &lhs = m.shape(dot.operand(0)), &rhs = m.shape(dot.operand(1));
  int64_t products = m.shape(dot.result()).elements();
  for (int64_t d : dot.ints(ir::AttrKey::lhs_contracting_dimensions))
    products *= lhs.dims[static_cast<size_t>(d)];
  return products == std::max(lhs.elements(), rhs.elements());
}

std::vector<ZeroEdge> zeroEdges(const ir::Module& module, const ir::Op& op) {
  std::vector<ZeroEdge> edges;
  if (op.kind != ir::OpKind::convolution_) return edges;
  const ir::Op* pad = module.def(op.operand(0));
  if (!pad || pad->kind != ir::OpKind::pad_ || !isZero(module.def(pad->operand(1)))) return edges;
  const Dims& padded = module.shape(pad->result()).dims;
  const auto &input = op.ints(AttrKey::input_spatial_dimensions),
             &output = op.ints(AttrKey::output_spatial_dimensions),
             &strides = op.ints(AttrKey::window_strides), &gaps = op.ints(AttrKey::rhs_dilation);
  for (size_t s = 0; s < input.size(); ++s) {
    auto dim = static_cast<size_t>(input[s]);
    int64_t low = std::max<int64_t>(0, pad->ints(AttrKey::edge_padding_low)[dim]);
    int64_t high = std::max<int64_t>(0, pad->ints(AttrKey::edge_padding_high)[dim]);
    if ((low == 0 && high == 0) || (!gaps.empty() && gaps[s] != 1)) continue;
    edges.push_back({s, static_cast<size_t>(output[s]), strides.empty() ? 1 : strides[s], low,
                     padded[dim] - high});
  }
  return edges;
}

}  // namespace tercel::kernel
