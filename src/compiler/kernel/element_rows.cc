// Rows too short for a vector: which loops go over them, and what is made once for a whole row.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "compiler/kernel/element_loops.h"

namespace tercel::kernel {

constexpr int64_t kFewOps = 160;

// Written out in all vectors. Rows of their own leave lanes empty, and wait for each other. Masks
// and shuffles of many lanes are long in themselves.
int64_t ElementLoops::mostOps(int64_t vectors) const {
  constexpr int64_t kMany = 16;  // lanes or vectors
  if (std::max<int64_t>(lanes_, vectors) <= kMany) return 1000;
  return low_.mayStoreAgain() ? 40 : kFewOps;
}

bool ElementLoops::knowsPlaces() const {
  const ir::Module& m = low_.module;
  return std::ranges::any_of(low_.cluster.ops, [&](ir::OpId id) {
    return m.op(id).kind == ir::OpKind::gather_ && isKnownStart(m, m.op(id).operand(1));
  });
}

// Longer ones fill vectors of their own, but not where their innermost loop leaves most lanes empty.
int64_t ElementLoops::longestRow(const Dims& extents) const {
  if (knowsPlaces()) return 4 * lanes_;
  if (!low_.mayStoreAgain()) return lanes_ - 1;  // next to each other, masked stores hold up loads
  const bool is_thin = extents.size() > 1 && 4 * extents.back() <= lanes_;
  return is_thin ? 2 * lanes_ : lanes_ / 2;
}

// Whether it stores what it makes, of all or of a part of an array, and nothing else.
bool ElementLoops::goesByElements() const {
  return low_.cluster.nest == Nest::loop || low_.cluster.nest == Nest::update;
}

// A row is one loop, or several within each other.
bool ElementLoops::chooseShortRows() {
  if (!goesByElements() || elementCount(piece_.extents) == 0) return false;
  ShortRows rows;
  for (size_t row = loops_; row-- > 1;) {
    rows.length *= plan_.groupExtent(row);
    rows.extents.insert(size_t{0}, plan_.groupExtent(row));
    rows.same = sameInRows(row - 1);
    const bool fills_vectors = rows.length > longestRow(rows.extents);
    if (fills_vectors && !sharesFunction(rows, row - 1)) return false;
    if (!suits(rows, row - 1, fills_vectors)) continue;
    short_ = rows;
    return true;
  }
  return false;
}

// Whether what is the same all along rows of a few vectors is dear: made once for as many rows as
// vectors have lanes. Their elements are read one after another, or are the same in each row.
bool ElementLoops::sharesFunction(const ShortRows& rows, size_t outer) const {
  constexpr int64_t kMostVectors = 4;
  constexpr double kDear = 0.25;
  if (rows.same.empty() || rows.length >= kMostVectors * lanes_) return false;
  for (const auto& strides : plan_.strides) {
    if (strides.empty()) return false;
    const auto in_row = std::span(strides).subspan(outer + 1);
    const bool moves = std::ranges::any_of(in_row, [](int64_t s) { return s != 0; });
    if (moves && strides[outer] != 0 && !isInOrder(strides, outer)) return false;
  }
  double cost = 0;
  for (ir::OpId id : low_.cluster.ops) {
    const ir::Op& op = low_.module.op(id);
    const bool once = low_.module.shape(op.result()).elements() < elementCount(piece_.extents);
    if (once) cost += elementCost(low_.module, op);
  }
  return cost > kDear;
}

// Those that compute something else within so many neighbours of the domain. A pad of flags takes
// its masks from bytes.
int64_t ElementLoops::opsWithin(int64_t neighbours) const {
  const int64_t apart = elementCount(piece_.extents) / neighbours;
  constexpr int64_t kPaddedFlags = 4;
  int64_t count = 0;
  for (ir::OpId id : low_.cluster.ops) {
    const ir::Op& op = low_.module.op(id);
    const bool is_read = op.kind == ir::OpKind::constant_ || op.kind == ir::OpKind::reshape_ ||
                         op.kind == ir::OpKind::broadcast_in_dim_;
    const Shape& shape = low_.module.shape(op.result());
    if (is_read || shape.elements() <= apart) continue;
    count += op.kind == ir::OpKind::pad_ && isPred(shape.dtype) ? kPaddedFlags : 1;
  }
  return count;
}

// What is the same all along the rows is spread over them by a broadcast, and read where the row is.
std::vector<ir::Value> ElementLoops::sameInRows(size_t outer) const {
  const ir::Module& m = low_.module;
  const Dims& domain = piece_.extents;
  if (!is_whole_ || domain != m.shape(low_.cluster.outputs[0]).dims) return {};
  std::vector<ir::Value> same;
  std::unordered_set<uint32_t> derived;
  for (ir::OpId id : low_.cluster.ops) {
    const ir::Op& op = m.op(id);
    const bool reads = std::ranges::any_of(
        op.operands, [&](ir::Value v) { return derived.contains(v.index); });
    const bool is_spread = isSpread(op, outer);
    if (is_spread) same.push_back(op.result());
    if (reads && !(isElementwise(op.kind) && m.shape(op.result()).dims == domain)) return {};
    if (reads || is_spread) derived.insert(op.result().index);
  }
  return same;
}

// Whether the op spreads what the cluster makes over the rows of the domain.
bool ElementLoops::isSpread(const ir::Op& op, size_t outer) const {
  const ir::Module& m = low_.module;
  if (op.kind != ir::OpKind::broadcast_in_dim_ || m.shape(op.result()).dims != piece_.extents)
    return false;
  const ir::Value from = op.operand(0);
  const ir::Op* made_by = m.def(from);
  const Dims& dims = m.shape(from).dims;
  if (!made_by || made_by->kind == ir::OpKind::constant_ || elementCount(dims) == 1 ||
      std::ranges::count(low_.cluster.inputs, from) > 0)
    return false;
  std::vector<bool> in_row(piece_.extents.size());
  for (size_t g = outer + 1; g < plan_.groups.size(); ++g)
    for (size_t loop : plan_.groups[g]) in_row[plan_.loops[loop].dim] = true;
  const auto& where = op.ints(ir::AttrKey::broadcast_dimensions);
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] > 1 && in_row[static_cast<size_t>(where[d])]) return false;
  return true;
}

// A few rows, none as long as a vector: all of them in as few vectors as they fill, the last one not
// whole.
bool ElementLoops::chooseAllRows() {
  const int64_t most_vectors = low_.mayStoreAgain() ? 4 : 16;
  const int64_t elements = elementCount(piece_.extents);
  if (!goesByElements() || loops_ < 2 || elements == 0 || widest() < 4 ||
      elements > most_vectors * lanes_ || !low_.machine.hasMasks())
    return false;
  while (lanes_ / 2 >= elements) lanes_ /= 2;
  ShortRows rows;
  for (size_t g = 1; g < loops_; ++g) rows.extents.push_back(plan_.groupExtent(g));
  rows.length = elementCount(rows.extents);
  rows.vectors = (elements + lanes_ - 1) / lanes_;
  // More than there are, where the last vector is not whole.
  rows.rows = (rows.vectors * lanes_ + rows.length - 1) / rows.length;
  if (rows.length >= lanes_ || rows.vectors * opsWithin(elements) > mostOps(rows.vectors))
    return false;
  if (!readsInRows(0, rows.length)) return false;
  short_ = rows;
  return true;
}

// fills_vectors: longer than what is worth it but for what is made once.
bool ElementLoops::suits(ShortRows& rows, size_t outer, bool fills_vectors) const {
  const int64_t all = opsWithin(plan_.groupExtent(outer) * rows.length);
  const int64_t once = rows.same.empty() ? 0 : all - opsWithin(rows.length);
  auto fits = [&](int64_t vectors) {
    const int64_t most_ops = fills_vectors ? kFewOps : mostOps(vectors);
    rows.vectors = vectors;
    rows.rows = vectors * lanes_ / rows.length;
    return plan_.groupExtent(outer) >= rows.rows && vectors * (all - once) <= most_ops;
  };
  // What is made once takes whole vectors.
  const bool is_full = once > 0 && fits(rows.length);
  if (!is_full && fills_vectors) return false;
  if (!is_full && !fits(rows.length / std::gcd(rows.length, int64_t{lanes_}))) return false;
  return readsInRows(outer, rows.length);
}

// Whether what is stored lies in the order of the rows, and what is read no further apart than vectors
// of several rows bear.
bool ElementLoops::readsInRows(size_t outer, int64_t length) const {
  for (size_t a = 0; a < plan_.accesses.size(); ++a)
    if (plan_.accesses[a].is_store ? !isInOrder(plan_.strides[a], outer)
                                   : isScattered(a, outer, length))
      return false;
  return true;
}

// Whether rows that are read lie anywhere, or far apart and are of elements that no machine
// gathers: they are better moved one by one.
bool ElementLoops::isScattered(size_t access, size_t outer, int64_t length) const {
  constexpr int64_t kGathered = 4, kNearest = 8, kShortest = 3;
  const bool is_gathered = plan_.accesses[access].element_bytes >= kGathered;
  if (length >= kShortest && findsPlace(access, outer) && !(is_gathered && knowsPlaces()))
    return true;
  if (is_gathered) return false;
  const auto& strides = plan_.strides[access];
  if (strides.empty()) return !knowsPlaces();
  return std::abs(strides[outer]) > kNearest * length;
}

// Whether a gather reads where the row lies, again for each turn of the loop `outer`.
bool ElementLoops::findsPlace(size_t access, size_t outer) const {
  const ir::Module& m = low_.module;
  const bool reads = std::ranges::any_of(low_.cluster.ops, [&](ir::OpId id) {
    const ir::Op& op = m.op(id);
    return op.kind == ir::OpKind::gather_ && !isInWindow(op, outer);
  });
  return reads && (plan_.accesses[access].is_placed || plan_.strides[access].empty());
}

// Whether the loop goes over what the gather takes at one place.
bool ElementLoops::isInWindow(const ir::Op& gather, size_t outer) const {
  const ir::Ints& window = gather.ints(ir::AttrKey::offset_dims);
  return low_.module.shape(gather.result()).dims == piece_.extents &&
         std::ranges::all_of(plan_.groups[outer], [&](size_t loop) {
           const auto dim = static_cast<int64_t>(plan_.loops[loop].dim);
           return std::ranges::find(window, dim) != window.end();
         });
}

// Whether elements follow each other from one turn of the loop `outer` to the next.
bool ElementLoops::isInOrder(const std::vector<int64_t>& strides, size_t outer) const {
  int64_t size = 1;
  for (size_t g = strides.size(); g-- > outer; size *= plan_.groupExtent(g))
    if (strides[g] != size) return false;
  return !strides.empty();
}

ElementLoops::RowValues ElementLoops::rowValues(std::vector<Index> groups, V i, int64_t extent,
                                                V count) {
  RowValues values;
  if (short_.same.empty()) return values;
  const int rows = static_cast<int>(short_.rows);
  Emitter e(b_, space_, low_.module, rows);
  low_.bindInputs(e);
  groups.push_back(space_.loop(i, extent, true));
  groups.resize(groups.size() + short_.extents.size(), Index(0));
  const Indices at = domainIndices(space_, plan_, piece_.extents.size(), groups);
  e.guarded(count.valid() ? firstLanes(b_, rows, count) : Guard{}, [&] {
    for (ir::Value v : short_.same) values.push_back(e.at(v, at));
  });
  return values;
}

// Their elements as the lanes of vector v of the rows' vectors need them.
Elem ElementLoops::alongRows(const Elem& of_rows, int64_t v) {
  auto spread = [&](V x) {
    if (!x.valid() || b_.type(x).lanes == 1) return x;
    std::vector<int16_t> rows;
    for (int64_t lane = 0; lane < lanes_; ++lane)
      rows.push_back(static_cast<int16_t>((v * lanes_ + lane) / short_.length));
    return shuffled(b_, x, rows);
  };
  return {spread(of_rows.re), spread(of_rows.im)};
}

}  // namespace tercel::kernel
