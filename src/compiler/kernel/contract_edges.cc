// Convolutions of padded images: products with the zeros around them are left out, which are many
// where images are small. Each window has bounds of its own; all rows of a tile must be of one.
#include <algorithm>

#include "compiler/kernel/contract_nest.h"

namespace tercel::kernel {
namespace {

constexpr double kWorthSkipping = 0.08;  // of the products
constexpr int64_t kFewEdgeRows = 8;

}  // namespace

bool ContractNest::holds(size_t group, size_t dim) const {
  return group != kNone && std::ranges::any_of(plan_.groups[group], [&](size_t loop) {
    return plan_.loops[loop].dim == dim;
  });
}

// How many of its products are with zeros.
double ContractNest::zeroShare(const ZeroEdge& edge) const {
  int64_t taps = domain_[rank_ + edge.sum], outs = domain_[edge.out], met = 0;
  for (int64_t at = 0; at < outs; ++at)
    met += std::max<int64_t>(0, edge.lastTap(at, taps) - edge.firstTap(at));
  return 1 - static_cast<double>(met) / static_cast<double>(taps * outs);
}

// Tiles of rows along a padded dimension would have windows of different bounds: where there is
// much to skip, they lie along another one, as the batch.
void ContractNest::preferConstantWindows() {
  auto isPadded = [&](size_t group) {
    return std::ranges::any_of(edges_, [&](const ZeroEdge& edge) {
      return holds(group, edge.out);
    });
  };
  double share = 0;
  for (const ZeroEdge& edge : edges_) share += zeroShare(edge);
  if (columns_.operand != 1 || share < kWorthSkipping || !isPadded(rows_.group)) return;
  for (size_t g = 0; g < columns_.group; ++g) {
    bool fits = !varies_[columns_.operand][g] && extent(g) >= kFewEdgeRows && !isPadded(g);
    if (!fits || (rows_.lines_inner && extent(g) < extent(rows_.group))) continue;
    rows_.group = g;
    rows_.lines_inner = true;
  }
}

// Whether its bounds are those of a loop over the group.
bool ContractNest::skips(const ZeroEdge& edge, size_t group) const {
  if (holds(rows_.group, edge.out) || holds(columns_.group, edge.out)) return false;
  const Loop& outermost = plan_.loops[plan_.groups[group].front()];
  return outermost.dim == rank_ + edge.sum && outermost.extent == domain_[outermost.dim];
}

// Where that saves more than it takes to look at the weights first.
bool ContractNest::skipsZeros() const {
  constexpr double kRows = 8;
  bool by_groups = tiling_.pack_n && !tiling_.pack_m && !tiling_.along_k && tiling_.parts == 1;
  if (!by_groups || !isFloat(sum_) || columns_.operand != 1) return false;
  double share = 0;
  for (const ZeroEdge& edge : edges_)
    for (size_t g : k_groups_) share += skips(edge, g) ? zeroShare(edge) : 0;
  double rows = share * static_cast<double>(tiling_.tiles * tiling_.rows);
  return share >= kWorthSkipping && rows >= kRows;
}

// A weight that is not finite makes NaN of a zero: then none are skipped.
V ContractNest::anyNotFinite(V first, V last) {
  Type type{sum_, static_cast<uint16_t>(tiling_.lanes)};
  V zero = b_.constant(type, 0);
  auto nextPanel = [&](V panel, std::span<const V> before) {
    V begin = b_.imul(b_.isub(panel, first), b_.index(panelSize()));
    return b_.forLoop(b_.index(0), stepsInBlock(), 1, before, [&](V k, std::span<const V> now) {
      V line = b_.iadd(begin, b_.imul(k, b_.index(tiling_.panel())));
      Sums next;
      for (V sum : now) {
        auto offset = static_cast<int64_t>(next.size()) * tiling_.lanes;
        next.push_back(b_.fma(b_.load(n_scratch_, line, tiling_.lanes, offset), zero, sum));
      }
      return next;
    });
  };
  const Sums none(static_cast<size_t>(tiling_.vectors), zero);
  V all = zero;
  for (V sum : b_.forLoop(first, last, 1, none, nextPanel)) all = b_.fadd(all, sum);
  V is_not = b_.compare(Opcode::fcmp, Predicate::uno, all, all);
  return tiling_.lanes > 1 ? b_.any(is_not) : is_not;
}

std::pair<V, V> ContractNest::withoutZeros(std::pair<V, V> range, size_t group,
                                           const Groups& groups) {
  for (const ZeroEdge& edge : edges_) {
    if (!skips(edge, group)) continue;
    int64_t taps = domain_[rank_ + edge.sum], inside = extent(group) / taps;
    Indices domain = domainIndices(space_, plan_, domain_.size(), groups);
    V start = b_.imul(space_.emitScalar(domain[edge.out]), b_.index(edge.stride * inside));
    V low = b_.isub(b_.index(edge.low * inside), start);
    V high = b_.isub(b_.index(edge.high * inside), start);
    low = b_.select(none_skipped_, range.first, b_.binary(Opcode::smax, range.first, low));
    high = b_.select(none_skipped_, range.second, b_.binary(Opcode::smin, range.second, high));
    range = {low, high};
  }
  return range;
}

}  // namespace tercel::kernel
