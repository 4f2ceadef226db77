// A piece of an array, as a slice has it.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// Its start and stride in every dimension, and the size that comes out.
struct Piece {
  ir::Ints start, stride, size;

  explicit Piece(size_t rank) : start(rank, 0), stride(rank, 1), size(rank, 1) {}
  Piece(const Rewriter& rw, const ir::Op& slice);
  int64_t last(size_t d) const { return start[d] + (size[d] - 1) * stride[d]; }
};

ir::Value emitPiece(Rewriter& rw, ir::Value x, const Piece& piece);

}  // namespace tercel::passes
