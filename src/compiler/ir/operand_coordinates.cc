#include "compiler/ir/operand_coordinates.h"

namespace tercel::ir {
namespace {

Coordinates ofBroadcast(const Dims& from, const Ints& dimensions) {
  Coordinates at;
  for (size_t d = 0; d < from.size(); ++d)
    at.push_back(from[d] == 1 ? Coordinate() : Coordinate{dimensions[d]});
  return at;
}

Coordinates ofTranspose(const Ints& permutation) {
  Coordinates at(permutation.size(), {});
  for (size_t d = 0; d < permutation.size(); ++d)
    at[static_cast<size_t>(permutation[d])].dimension = static_cast<int64_t>(d);
  return at;
}

Coordinates ofSlice(const Ints& start, const Ints& strides) {
  Coordinates at;
  for (size_t d = 0; d < start.size(); ++d)
    at.push_back({static_cast<int64_t>(d), start[d], strides[d]});
  return at;
}

Coordinates ofReverse(const Dims& dims, const Ints& dimensions) {
  Coordinates at;
  for (size_t d = 0; d < dims.size(); ++d) at.push_back({static_cast<int64_t>(d)});
  for (int64_t d : dimensions) {
    at[static_cast<size_t>(d)].start = dims[static_cast<size_t>(d)] - 1;
    at[static_cast<size_t>(d)].step = -1;
  }
  return at;
}

}  // namespace

std::optional<Coordinates> operandCoordinates(const Module& m, const Op& op) {
  switch (op.kind) {
    case OpKind::broadcast_in_dim_:
      return ofBroadcast(m.shape(op.operand(0)).dims, op.ints(AttrKey::broadcast_dimensions));
    case OpKind::transpose_: return ofTranspose(op.ints(AttrKey::permutation));
    case OpKind::slice_:
      return ofSlice(op.ints(AttrKey::start_indices), op.ints(AttrKey::strides));
    case OpKind::reverse_:
      return ofReverse(m.shape(op.result()).dims, op.ints(AttrKey::dimensions));
    default: return {};
  }
}

}  // namespace tercel::ir
