#include "compiler/kernel/domain_pieces.h"

#include <algorithm>

namespace tercel::kernel {

size_t opsOf(const Lowering& lowering) {
  return static_cast<size_t>(std::ranges::count_if(lowering.cluster.ops, [&](ir::OpId id) {
    switch (lowering.module.op(id).kind) {
      case ir::OpKind::constant_: case ir::OpKind::slice_: case ir::OpKind::reshape_:
      case ir::OpKind::broadcast_in_dim_:
        return false;
      default: return true;
    }
  }));
}

namespace {

// What evaluating one element of a piece takes, and asks.
struct PieceProbe {
  PieceProbe(const Lowering& lowering, const Piece& piece, const Evaluate& evaluate)
      : low(lowering.module, lowering.cluster, lowering.machine), space(low.builder) {
    Indices indices;
    for (size_t d = 0; d < piece.extents.size(); ++d) {
      Index i = space.loop(low.builder.opaque({Scalar::i64, 1}), piece.extents[d]);
      indices.push_back(space.add(i, piece.start[d]));
      if (piece.extents[d] > 1) dim_of_atom.push_back(d);
    }
    Emitter emitter(low.builder, space, lowering.module, 1);
    low.bindInputs(emitter);
    emitter.bounds = &bounds;
    evaluate(emitter, indices);
  }
  KernelLowering low;
  IndexSpace space;
  std::vector<size_t> dim_of_atom;
  std::vector<Bound> bounds;
};

}  // namespace

std::vector<int64_t> findCuts(const Lowering& lowering, const Piece& piece, size_t dimension,
                              const Evaluate& evaluate) {
  const PieceProbe probe(lowering, piece, evaluate);
  int64_t end = piece.extents[dimension];
  std::vector<int64_t> cuts{end};
  for (const auto& [index, extent] : probe.bounds) {
    if (index.terms.size() != 1 || index.terms[0].atom >= probe.dim_of_atom.size() ||
        probe.dim_of_atom[index.terms[0].atom] != dimension)
      continue;
    const int64_t c = index.constant, factor = index.terms[0].factor;
    // The first places where it is not less than 0, and the extent; or is less.
    for (int64_t bound : {int64_t{0}, extent})
      cuts.push_back(factor > 0 ? -floorDiv(c - bound, factor)
                                : floorDiv(c - bound, -factor) + 1);
  }
  std::erase_if(cuts, [&](int64_t cut) { return cut <= 0 || cut > end; });
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

namespace {

// What lies between the cuts, from the first to the last.
std::vector<Piece> piecesBetween(const Piece& whole, size_t dimension,
                                 std::span<const int64_t> cuts) {
  std::vector<Piece> pieces;
  int64_t start = 0;
  for (int64_t end : cuts) {
    pieces.push_back(whole);
    pieces.back().start[dimension] = Index(start);
    pieces.back().extents[dimension] = end - start;
    start = end;
  }
  return pieces;
}

// Only the cuts at the ends of what is long.
std::vector<int64_t> cutsAroundLong(std::span<const int64_t> cuts, int64_t shortest) {
  std::vector<int64_t> around;
  auto add = [&](int64_t cut) {
    if (cut > 0 && (around.empty() || cut > around.back())) around.push_back(cut);
  };
  int64_t start = 0;
  for (int64_t end : cuts) {
    if (end - start >= shortest) add(start), add(end);
    start = end;
  }
  add(cuts.back());
  return around;
}

// Whether the code for all pieces is not much more than that for the whole.
bool isWorthPieces(const Lowering& lowering, const Piece& whole, std::span<const Piece> pieces,
                   const Evaluate& evaluate) {
  constexpr size_t kTimes = 3, kMostCode = 1500;
  auto codeOf = [&](const Piece& piece) {
    return PieceProbe(lowering, piece, evaluate).low.kernel.insts.size();
  };
  size_t code = 0;
  for (const Piece& piece : pieces) code += codeOf(piece);
  return code <= kMostCode && code <= kTimes * codeOf(whole);
}

// Pieces along the last dimension: all, where these are at most so many, else what is long.
std::vector<Piece> cutLine(const Lowering& lowering, const Piece& whole, size_t most,
                           const Evaluate& evaluate) {
  const size_t d = whole.extents.size() - 1;
  const int64_t shortest =
      kLongLine * vectorLanes(lowering.module, lowering.cluster, lowering.machine);
  const std::vector<int64_t> cuts = findCuts(lowering, whole, d, evaluate);
  if (cuts.size() == 1) return {whole};
  std::vector<Piece> pieces = piecesBetween(whole, d, cuts);
  if (pieces.size() <= most) return pieces;
  if (whole.extents[d] < shortest) return {whole};
  pieces = piecesBetween(whole, d, cutsAroundLong(cuts, shortest));
  return isWorthPieces(lowering, whole, pieces, evaluate) ? pieces : std::vector{whole};
}

}  // namespace

std::vector<Piece> cutDomain(const Lowering& lowering, const Dims& domain,
                             const Evaluate& evaluate) {
  const Piece whole{Indices(domain.size()), domain};
  if (domain.empty() || elementCount(domain) < kSmallDomain) return {whole};
  const size_t most = kOpsOfPieces / std::max<size_t>(1, opsOf(lowering));
  std::vector<Piece> pieces = cutLine(lowering, whole, most, evaluate);  // which gains most
  for (size_t d = domain.size() - 1; d-- > 0;) {
    std::vector<Piece> finer;
    for (const Piece& piece : pieces) {
      const auto parts = piecesBetween(piece, d, findCuts(lowering, piece, d, evaluate));
      finer.insert(finer.end(), parts.begin(), parts.end());
    }
    const bool cuts = finer.size() > pieces.size();
    if (cuts && (finer.size() <= most || isWorthPieces(lowering, whole, finer, evaluate)))
      pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace tercel::kernel
