#include "compiler/passes/pieces.h"

namespace tercel::passes {
using namespace ir;

Piece::Piece(const Rewriter& rw, const Op& slice)
    : start(slice.ints(AttrKey::start_indices)), stride(slice.ints(AttrKey::strides)) {
  for (int64_t d : rw.shape(slice.result()).dims) size.push_back(d);
  for (size_t d = 0; d < size.size(); ++d)
    if (size[d] == 1) stride[d] = 1;
}

Value emitPiece(Rewriter& rw, Value x, const Piece& piece) {
  Ints limit;
  for (size_t d = 0; d < piece.start.size(); ++d) limit.push_back(piece.last(d) + 1);
  return rw.slice(x, piece.start, std::move(limit), piece.stride);
}

}  // namespace tercel::passes
