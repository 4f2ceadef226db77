#include "compiler/kernel/moved_indices.h"

#include "compiler/ir/operand_coordinates.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::OpKind;

Index indexAt(const IndexSpace& space, const ir::Coordinate& c, const Indices& indices) {
  if (c.dimension < 0) return Index(c.start);
  const Index& i = indices[static_cast<size_t>(c.dimension)];
  if (c.step == 1) return c.start == 0 ? i : space.add(i, Index(c.start));
  return space.add(space.scale(i, c.step), Index(c.start));
}

// Where a reshape adds and drops only dimensions of 1: the same indices, in their new places.
bool movesUnits(const Indices& indices, const Dims& dims, const Dims& to, Indices& moved) {
  moved.assign(to.size(), Index(0));
  size_t next = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    while (next < to.size() && to[next] == 1) ++next;
    if (next == to.size() || to[next] != dims[d]) return false;
    moved[next++] = indices[d];
  }
  return true;
}

Indices reshaped(IndexSpace& space, const Indices& indices, const Dims& dims, const Dims& to) {
  Indices moved;
  if (movesUnits(indices, dims, to, moved)) return moved;
  return space.delinear(space.linear(indices, dims), to);
}

Indices throughAffineSlice(const IndexSpace& space, const ir::Op& op, const Indices& indices) {
  const ir::Ints& steps = op.ints(AttrKey::steps);
  Indices moved;
  for (int64_t start : op.ints(AttrKey::start_indices)) {
    Index place(start);
    const size_t row = moved.size() * indices.size();
    for (size_t i = 0; i < indices.size(); ++i)
      place = space.add(place, space.scale(indices[i], steps[row + i]));
    moved.push_back(place);
  }
  return moved;
}

}  // namespace

std::optional<Indices> movedIndices(IndexSpace& space, const ir::Module& m, const ir::Op& op,
                                    const Indices& indices) {
  if (op.kind == OpKind::affine_slice_) return throughAffineSlice(space, op, indices);
  if (op.kind == OpKind::reshape_)
    return reshaped(space, indices, m.shape(op.result()).dims, m.shape(op.operand(0)).dims);
  const auto coordinates = ir::operandCoordinates(m, op);
  if (!coordinates) return {};
  Indices moved;
  for (const ir::Coordinate& c : *coordinates) moved.push_back(indexAt(space, c, indices));
  return moved;
}

}  // namespace tercel::kernel
