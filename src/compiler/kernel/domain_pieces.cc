#include "compiler/kernel/domain_pieces.h"

#include <algorithm>

namespace tercel::kernel {
namespace {

constexpr int64_t kSmall = 256;      // elements: one piece is soon done with them
constexpr size_t kOpsOfPieces = 24;  // ops that all pieces together may have

// For each dimension the places where a bound of `evaluate` cuts it.
std::vector<std::vector<int64_t>> findCuts(const Lowering& lowering, const Dims& domain,
                                           const Evaluate& evaluate) {
  KernelLowering scratch(lowering.module, lowering.cluster, lowering.machine);
  IndexSpace space(scratch.builder);
  Indices indices;
  std::vector<size_t> dim_of_atom;
  for (size_t d = 0; d < domain.size(); ++d) {
    indices.push_back(space.loop(scratch.builder.opaque({Scalar::i64, 1}), domain[d]));
    if (domain[d] > 1) dim_of_atom.push_back(d);
  }
  Emitter emitter(scratch.builder, space, lowering.module, 1);
  scratch.bindInputs(emitter);
  std::vector<Bound> bounds;
  emitter.bounds = &bounds;
  evaluate(emitter, indices);
  std::vector<std::vector<int64_t>> cuts(domain.size());
  for (const auto& [index, extent] : bounds) {
    if (index.terms.size() != 1 || index.terms[0].atom >= dim_of_atom.size()) continue;
    size_t d = dim_of_atom[index.terms[0].atom];
    int64_t c = index.constant;
    if (index.terms[0].factor == 1) cuts[d].insert(cuts[d].end(), {-c, extent - c});
    if (index.terms[0].factor == -1) cuts[d].insert(cuts[d].end(), {c + 1, c + 1 - extent});
  }
  return cuts;
}

}  // namespace

std::vector<Piece> cutDomain(const Lowering& lowering, const Dims& domain,
                             const Evaluate& evaluate) {
  std::vector<Piece> pieces{{Indices(domain.size()), domain}};
  size_t most = kOpsOfPieces / std::max<size_t>(1, lowering.cluster.ops.size());
  if (most < 2 || elementCount(domain) < kSmall) return pieces;
  auto cuts = findCuts(lowering, domain, evaluate);
  for (size_t d = domain.size(); d-- > 0;) {  // the innermost dimension gains most
    std::vector<int64_t>& at = cuts[d];
    std::erase_if(at, [&](int64_t cut) { return cut <= 0 || cut >= domain[d]; });
    at.push_back(domain[d]);
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    if (pieces.size() * at.size() > most) continue;
    std::vector<Piece> finer;
    for (const Piece& piece : pieces) {
      int64_t start = 0;
      for (int64_t end : at) {
        finer.push_back(piece);
        finer.back().start[d] = Index(start);
        finer.back().extents[d] = end - start;
        start = end;
      }
    }
    pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace tercel::kernel
