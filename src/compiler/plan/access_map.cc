#include "compiler/plan/access_map.h"

#include <algorithm>
#include <set>

#include "compiler/ir/operand_coordinates.h"
#include "compiler/ir/prefix_scan.h"
#include "compiler/kernel/nest.h"
#include "core/integers.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::OpKind;

constexpr int64_t kMaxRowBytes = 256 << 10;  // a row that is read twice should stay in cache

// A loop around the innermost one that indexes the value evaluates it anew each time.
double repeatsOf(const AccessMap& map, const Domain& domain) {
  int32_t innermost = -1;
  for (int32_t d : map.dims) innermost = std::max(innermost, d);
  double repeats = 1;
  for (int32_t d = 0; d < innermost; ++d)
    if (std::find(map.dims.begin(), map.dims.end(), d) == map.dims.end())
      repeats *= static_cast<double>(domain.extents[static_cast<size_t>(d)]);
  return repeats;
}

double readsPerElement(const ir::Module& m, const ir::Op& op) {
  const bool sums = op.kind == OpKind::dot_general_ || op.kind == OpKind::convolution_ ||
                    op.kind == OpKind::reduce_window_;
  return sums ? kernel::stepsPerElement(m, op) : 1;
}

AccessMap irregular(const ir::Module& m, const ir::Op& op, size_t operand,
                    const AccessMap& result) {
  AccessMap map{.regular = false, .turned = result.turned, .divided = result.divided};
  double from = static_cast<double>(m.shape(op.result()).elements());
  double to = static_cast<double>(std::max<int64_t>(1, m.shape(op.operand(operand)).elements()));
  map.repeats = std::max(1.0, result.repeats * from * readsPerElement(m, op) / to);
  return map;
}

SmallVector<int32_t, 6> renamed(const ir::Coordinates& coordinates,
                                const SmallVector<int32_t, 6>& dims) {
  SmallVector<int32_t, 6> from;
  for (const ir::Coordinate& c : coordinates)
    from.push_back(c.dimension < 0 ? -1 : dims[static_cast<size_t>(c.dimension)]);
  return from;
}

// A reshape that only adds or drops dimensions of size 1.
bool reshapeMap(const Dims& from, const Dims& to, const AccessMap& result, AccessMap& map) {
  size_t t = 0;
  for (size_t f = 0; f < from.size(); ++f) {
    if (from[f] == 1) {
      map.dims.push_back(-1);
      continue;
    }
    while (t < to.size() && to[t] == 1) ++t;
    if (t == to.size() || to[t] != from[f]) return false;
    map.dims.push_back(result.dims[t++]);
  }
  return true;
}

// Whether loops over some dimensions index both shapes: where each number of elements that stand
// behind a dimension divides the next larger one.
bool shareLoops(const Dims& a, const Dims& b) {
  std::set<int64_t> behind;
  for (const Dims* dims : {&a, &b}) {
    int64_t elements = 1;
    for (size_t d = dims->size(); d-- > 0;) behind.insert(elements *= (*dims)[d]);
  }
  return std::ranges::adjacent_find(behind, [](int64_t inner, int64_t outer) {
           return inner == 0 || outer % inner != 0;
         }) == behind.end();
}

AccessMap reduceOperandMap(const ir::Op& op, const Dims& dims, const AccessMap& result,
                           const Domain& domain) {
  AccessMap map{.regular = result.regular, .turned = result.turned, .divided = result.divided};
  size_t kept = 0, next = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!contains(op.ints(AttrKey::dimensions), d)) {
      map.dims.push_back(result.regular ? result.dims[kept] : -1);
      ++kept;
      continue;
    }
    while (next < domain.reduced.size() && !domain.reduced[next]) ++next;
    map.dims.push_back(next < domain.reduced.size() ? static_cast<int32_t>(next++) : -1);
  }
  return map;
}

// Of a reduction's operand and of the domain, where that is large: whether the elements of their
// lines are the same. Otherwise one of the two would be read or written in steps of whole lines.
bool sharesLines(const Dims& operand, const ir::Op& reduce, const AccessMap& result,
                 const std::vector<bool>& reduced, const Dims& extents) {
  if (elementCount(extents) <= kFew) return true;
  size_t last = operand.size(), kept = result.dims.size();
  bool along_reduced = false;
  while (last-- > 0) {
    along_reduced = contains(reduce.ints(AttrKey::dimensions), last);
    if (!along_reduced) --kept;
    if (operand[last] > 1) break;
  }
  size_t line = extents.size() - 1;
  while (line > 0 && extents[line] == 1) --line;
  return along_reduced ? reduced[line] : result.dims[kept] == static_cast<int32_t>(line);
}

// Whether two reductions' operands, of which these are the orders of the dimensions, have the same
// elements side by side.
bool sharesOrder(const SmallVector<int32_t, 6>& a, const SmallVector<int32_t, 6>& b,
                 const Dims& extents) {
  constexpr int64_t kRun = 16;
  if (elementCount(extents) <= kFew) return true;
  int64_t run = 1;
  for (size_t i = a.size(), k = b.size(); run < kRun; run *= extents[static_cast<size_t>(a[i])]) {
    while (i > 0 && a[i - 1] < 0) --i;
    while (k > 0 && b[k - 1] < 0) --k;
    if (i == 0 || k == 0) return i == k;
    if (a[--i] != b[--k]) return false;
  }
  return true;
}

}  // namespace

bool Domain::hasReduced() const {
  return std::find(reduced.begin(), reduced.end(), true) != reduced.end();
}

AccessMap AccessMap::identity(const Domain& domain) {
  AccessMap map;
  for (size_t d = 0; d < domain.extents.size(); ++d)
    map.dims.push_back(domain.extents[d] == 1 ? -1 : static_cast<int32_t>(d));
  return map;
}

bool AccessMap::isIdentity(const Domain& domain) const {
  return regular && dims == identity(domain).dims;
}

AccessMap meet(const AccessMap& a, const AccessMap& b) {
  if (a.regular && b.regular && a.dims == b.dims) return a;
  AccessMap map;
  map.regular = false;
  map.turned = a.turned || b.turned || (a.regular && b.regular);
  map.divided = a.divided || b.divided;
  map.repeats = a.repeats + b.repeats;
  return map;
}

AccessMap operandMap(const ir::Module& m, const ir::Op& op, size_t operand,
                     const AccessMap& result, const Domain& domain) {
  const Dims& from = m.shape(op.operand(operand)).dims;
  const Dims& to = m.shape(op.result()).dims;
  if (from.empty()) return {};
  auto other = [&] { return irregular(m, op, operand, result); };
  AccessMap map = result;
  switch (op.kind) {
    case OpKind::broadcast_in_dim_: case OpKind::transpose_:
      if (!result.regular) return other();
      map.dims = renamed(*ir::operandCoordinates(m, op), result.dims);
      break;
    case OpKind::reshape_:
      map.dims.clear();
      if (result.regular && reshapeMap(from, to, result, map)) break;
      map = other();
      map.divided |= !shareLoops(from, to);
      return map;
    case OpKind::reduce_: map = reduceOperandMap(op, from, result, domain); break;
    case OpKind::reduce_window_: return ir::prefixScan(m, op) ? result : other();
    case OpKind::dynamic_update_slice_:  // its domain is the update
      return operand == 1 ? AccessMap::identity(domain) : other();
    case OpKind::scatter_:  // its domain are the updates; where they go is found once for each
      if (operand > op.results.size()) return AccessMap::identity(domain);
      map = other();
      map.repeats = 1;
      return map;
    case OpKind::pad_: {  // so is that of a padded product what is padded
      const bool is_domain = operand == 0 && domain.extents == from && result.isIdentity(domain);
      return is_domain ? result : other();
    }
    default:
      if (!ir::isElementwise(op.kind) && op.kind != OpKind::optimization_barrier_) return other();
      if (result.regular && from.size() == to.size()) return result;
      map.dims.clear();
      map.regular = false;
      return map;
  }
  if (map.regular) map.repeats = repeatsOf(map, domain);
  return map;
}

bool extendForReduce(const ir::Module& m, const ir::Op& reduce, const AccessMap& result,
                     Domain& domain) {
  const Dims& dims = m.shape(reduce.operand(0)).dims;
  Dims extents;
  for (size_t d = 0; d < dims.size(); ++d)
    if (contains(reduce.ints(AttrKey::dimensions), d)) extents.push_back(dims[d]);
  std::vector<bool> kept(domain.extents.size(), false);
  for (int32_t d : result.dims)
    if (d >= 0) kept[static_cast<size_t>(d)] = true;
  Dims open;
  std::vector<bool> reduced(domain.extents.size(), false);
  for (size_t d = 0; d < domain.extents.size(); ++d) {
    if (kept[d]) {
      if (domain.reduced[d]) return false;
      continue;
    }
    if (domain.extents[d] == 1 && !domain.reduced[d] &&
        std::find(extents.begin(), extents.end(), 1) == extents.end())
      continue;
    open.push_back(domain.extents[d]);
    reduced[d] = true;
  }
  auto order = [&] { return reduceOperandMap(reduce, dims, result, domain).dims; };
  if (domain.hasReduced())
    return domain.reduced == reduced && open == extents &&
           sharesOrder(domain.order, order(), domain.extents);
  if (open.empty()) {
    for (int64_t e : extents) {
      domain.extents.push_back(e);
      domain.reduced.push_back(true);
    }
    domain.order = order();
    return true;
  }
  int64_t row_bytes = elementCount(extents) *
                      static_cast<int64_t>(byteSize(m.shape(reduce.operand(0)).dtype));
  if (!(open == extents) || row_bytes > kMaxRowBytes) return false;
  if (!sharesLines(dims, reduce, result, reduced, domain.extents)) return false;
  domain.reduced = reduced;
  domain.order = order();
  return true;
}

}  // namespace tercel::plan
