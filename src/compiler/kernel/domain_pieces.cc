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

std::vector<int64_t> findCuts(const Lowering& lowering, const Piece& piece, size_t dimension,
                              const Evaluate& evaluate) {
  KernelLowering scratch(lowering.module, lowering.cluster, lowering.machine);
  IndexSpace space(scratch.builder);
  Indices indices;
  std::vector<size_t> dim_of_atom;
  for (size_t d = 0; d < piece.extents.size(); ++d) {
    Index i = space.loop(scratch.builder.opaque({Scalar::i64, 1}), piece.extents[d]);
    indices.push_back(space.add(i, piece.start[d]));
    if (piece.extents[d] > 1) dim_of_atom.push_back(d);
  }
  Emitter emitter(scratch.builder, space, lowering.module, 1);
  scratch.bindInputs(emitter);
  std::vector<Bound> bounds;
  emitter.bounds = &bounds;
  evaluate(emitter, indices);
  int64_t end = piece.extents[dimension];
  std::vector<int64_t> cuts{end};
  for (const auto& [index, extent] : bounds) {
    if (index.terms.size() != 1 || index.terms[0].atom >= dim_of_atom.size() ||
        dim_of_atom[index.terms[0].atom] != dimension)
      continue;
    int64_t c = index.constant;
    if (index.terms[0].factor == 1) cuts.insert(cuts.end(), {-c, extent - c});
    if (index.terms[0].factor == -1) cuts.insert(cuts.end(), {c + 1, c + 1 - extent});
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

// Only the cuts around the longest piece, where that is most of all.
std::vector<int64_t> cutsAroundLongest(std::span<const int64_t> cuts) {
  int64_t first = 0, last = 0, start = 0;
  for (int64_t end : cuts) {
    if (end - start > last - first) first = start, last = end;
    start = end;
  }
  const int64_t all = cuts.back();
  if (4 * (last - first) < 3 * all) return {all};
  std::vector<int64_t> around;
  for (int64_t cut : {first, last, all})
    if (cut > 0 && (around.empty() || cut > around.back())) around.push_back(cut);
  return around;
}

}  // namespace

std::vector<Piece> cutDomain(const Lowering& lowering, const Dims& domain,
                             const Evaluate& evaluate) {
  std::vector<Piece> pieces{{Indices(domain.size()), domain}};
  const size_t ops = std::max<size_t>(1, opsOf(lowering)), most = kOpsOfPieces / ops;
  const int64_t long_line =
      kLongLine * vectorLanes(lowering.module, lowering.cluster, lowering.machine);
  if (domain.empty() || elementCount(domain) < kSmallDomain || ops > kMostOpsOfPiece) return pieces;
  for (size_t d = domain.size(); d-- > 0;) {  // the innermost dimension gains most
    std::vector<Piece> finer;
    for (const Piece& piece : pieces) {
      const auto parts = piecesBetween(piece, d, findCuts(lowering, piece, d, evaluate));
      finer.insert(finer.end(), parts.begin(), parts.end());
    }
    if (finer.size() <= most) {
      pieces = std::move(finer);
    } else if (d + 1 == domain.size() && domain[d] >= long_line) {
      pieces = piecesBetween(pieces[0], d,
                             cutsAroundLongest(findCuts(lowering, pieces[0], d, evaluate)));
    }
  }
  return pieces;
}

}  // namespace tercel::kernel
