#include "compiler/plan/merge.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/kernel/row_stages.h"
#include "compiler/plan/captures.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/parts.h"

namespace tercel::plan {
namespace {

using ir::OpKind;
using ir::Value;
using kernel::Cluster;
using kernel::Unit;

constexpr size_t kMaxParams = 12;
constexpr size_t kMaxWideParams = 400;  // of loops that would pass many arrays to each other
constexpr double kWeightOfCut = 32;  // of a loop: the less it does, the less it is apart for
constexpr size_t kMaxNeighbours = 8;  // of those that read the same array
constexpr size_t kMaxReductions = 4;
// Elements that are worth being read once, by two reductions, or by one and what writes as many.
constexpr int64_t kLargeRead = 64 << 10, kLargeWritten = 1 << 20;
// Weight for each reduction: the fewer there are, the more vectors side by side have own code.
constexpr double kMaxShared = 40;

class Merging {
 public:
  Merging(const ir::Module& m, ir::RegionId region, std::vector<Unit>& units)
      : m_(m), region_(m.region(region)), units_(units), gone_(units.size(), false) {
    for (uint32_t p = 0; p < region_.ops.size(); ++p) position_[region_.ops[p].index] = p;
    for (Value v : region_.results) results_.insert(v.index);
    for (size_t u = 0; u < units_.size(); ++u) note(u);
  }

  std::vector<Unit> run() {
    mergeAll();
    mixed_ = true;
    mergeAll();
    std::vector<Unit> left;
    for (size_t u = 0; u < units_.size(); ++u)
      if (!gone_[u]) left.push_back(std::move(units_[u]));
    return left;
  }

 private:
  const Cluster& cluster(size_t u) const { return units_[u].cluster; }
  bool isRows(size_t u) const { return cluster(u).nest == kernel::Nest::rows; }
  const Dims& dims(size_t u) const {
    return isRows(u) ? cluster(u).domain : m_.shape(cluster(u).outputs[0]).dims;
  }

  void mergeAll() {
    for (size_t u = 0; u < units_.size(); ++u)
      while (!gone_[u] && isMergeable(u) && mergeWithEarlier(u)) {}
  }

  void note(size_t u) {
    for (Value v : readsOf(m_, units_[u])) readers_[v.index].push_back(u);
    for (Value v : madeBy(m_, units_[u])) maker_[v.index] = u;
  }

  // Arithmetic, of parts of arrays, too: other movement decides how a nest is lowered.
  bool isMergeable(size_t u) const {
    if (!units_[u].is_cluster) return false;
    return isRows(u) ? areReductions(u) : cluster(u).nest == kernel::Nest::loop && isArithmetic(u);
  }

  bool isArithmetic(size_t u) const {
    return std::ranges::all_of(cluster(u).outputs,
                               [&](Value v) { return m_.shape(v).dims == dims(u); }) &&
           std::ranges::all_of(cluster(u).ops, [&](ir::OpId id) {
             return isPlain(m_.op(id).kind) || isPart(m_, cluster(u), m_.op(id));
           });
  }

  static bool isPlain(OpKind kind) {
    return ir::isElementwise(kind) || kind == OpKind::constant_ || kind == OpKind::iota_ ||
           kind == OpKind::broadcast_in_dim_;
  }

  // Of arrays as they lie, none of which needs another.
  bool areReductions(size_t u) const {
    if (elementCount(dims(u)) < kLargeRead) return false;
    const bool as_it_lies = std::ranges::all_of(cluster(u).ops, [&](ir::OpId id) {
      const OpKind kind = m_.op(id).kind;
      return isPlain(kind) || kind == OpKind::reduce_ || kind == OpKind::reshape_;
    });
    return as_it_lies && kernel::RowStages(m_, cluster(u)).count() == 1;
  }

  // Whether all reductions of both go over the same dimensions of their operands in the same way.
  bool reduceAlike(size_t a, size_t b) const {
    if (cluster(a).reduced != cluster(b).reduced) return false;
    const auto first = reductions(a)[0];
    auto all = reductions(a);
    std::ranges::copy(reductions(b), std::back_inserter(all));
    return all.size() <= kMaxReductions && std::ranges::all_of(all, [&](const Reduction& r) {
      return *r.map == *first.map &&
             r.op->ints(ir::AttrKey::dimensions) == first.op->ints(ir::AttrKey::dimensions) &&
             m_.shape(r.op->operand(0)).dims == m_.shape(first.op->operand(0)).dims;
    });
  }

  // Of each dimension of the domain, which one it is of the first reduction's operand; empty where
  // the result has its dimensions in another order.
  std::vector<int32_t> operandDims(size_t u) const {
    const Reduction r = reductions(u)[0];
    const ir::Ints& dimensions = r.op->ints(ir::AttrKey::dimensions);
    std::vector<int32_t> kept, reduced, order;
    for (size_t d = 0; d < dims(u).size(); ++d) {
      const auto dim = static_cast<int32_t>(d);
      (std::ranges::find(dimensions, dim) != dimensions.end() ? reduced : kept).push_back(dim);
    }
    if (m_.shape(r.op->operand(0)).rank() != static_cast<int64_t>(dims(u).size()) ||
        r.map->size() != kept.size())
      return {};
    size_t next_kept = 0, next_reduced = 0;
    for (size_t d = 0; d < dims(u).size(); ++d) {
      if (!cluster(u).reduced[d] && (*r.map)[next_kept] != static_cast<int32_t>(d)) return {};
      order.push_back(cluster(u).reduced[d] ? reduced[next_reduced++] : kept[next_kept++]);
    }
    return order;
  }

  // What little a loop does at each place is done by the pass that adds up, too.
  bool mayShare(size_t rows, size_t loop) const {
    return elementCount(dims(rows)) >= kLargeWritten && !hasParts(loop) &&
           !operandDims(rows).empty() &&
           elementCount(dims(rows)) == elementCount(dims(loop)) &&
           weight(rows) + weight(loop) <= kMaxShared * static_cast<double>(reductions(rows).size());
  }

  bool goAlike(size_t earlier, size_t u) const {
    if (isRows(earlier) != isRows(u))
      return mixed_ && (isRows(u) ? mayShare(u, earlier) : mayShare(earlier, u));
    return dims(earlier) == dims(u) && (!isRows(u) || reduceAlike(earlier, u));
  }

  bool belong(size_t earlier, size_t u) const {
    return goAlike(earlier, u) && !(isRows(earlier) && needsSums(u, earlier)) && fits(earlier, u);
  }

  struct Reduction {
    const ir::Op* op;
    const std::vector<int32_t>* map;
  };
  std::vector<Reduction> reductions(size_t u) const {
    std::vector<Reduction> found;
    for (size_t i = 0; i < cluster(u).ops.size(); ++i)
      if (const ir::Op& op = m_.op(cluster(u).ops[i]); op.kind == OpKind::reduce_)
        found.push_back({&op, &cluster(u).maps[i]});
    return found;
  }

  bool mergeWithEarlier(size_t u) {
    for (size_t earlier : neighbours(u)) {
      if (gone_[earlier] || !isMergeable(earlier) || !belong(earlier, u)) continue;
      bool comes = mayComeAt(u, earlier);
      if (!comes && !mayWaitFor(earlier, u)) continue;
      comes ? merge(u, earlier) : merge(earlier, u);
      return true;
    }
    return false;
  }

  // Earlier units that make or read an array that `u` reads, the last ones first.
  std::vector<size_t> neighbours(size_t u) {
    std::vector<size_t> found;
    auto add = [&](size_t other) {
      if (other < u && std::find(found.begin(), found.end(), other) == found.end())
        found.push_back(other);
    };
    for (Value v : cluster(u).inputs) {
      const std::optional<Span> own = spanOf(v, u);
      if (!own) continue;
      if (auto made = maker_.find(v.index); made != maker_.end()) add(made->second);
      const std::vector<size_t>& readers = readers_[v.index];
      size_t recent = readers.size() - std::min(readers.size(), kMaxNeighbours);
      for (size_t r = recent; r < readers.size(); ++r)
        if (readers[r] < u && isMergeable(readers[r]) && readTogether(v, u, *own, readers[r]))
          add(readers[r]);
    }
    std::sort(found.rbegin(), found.rend());
    return found;
  }

  // Whether an input has an element for each place of the cluster's domain.
  bool isWhole(Value v, size_t u) const {
    const Dims& own = m_.shape(v).dims;
    return isRows(u) ? elementCount(own) == elementCount(dims(u)) : own == dims(u);
  }

  // The elements of an input, as it lies, among which are those that the cluster's domain reads.
  std::optional<Span> spanOf(Value v, size_t u) const {
    if (isWhole(v, u)) return Span{0, m_.shape(v).elements() - 1};
    return isRows(u) ? std::nullopt : partsOf(m_, cluster(u), v);
  }

  bool readTogether(Value v, size_t u, Span own, size_t other) const {
    const std::optional<Span> read = spanOf(v, other);
    if (!read || !lieTogether(own, *read)) return false;
    return (!hasParts(u) && !hasParts(other)) || storesLines(m_, cluster(u));
  }

  bool hasParts(size_t u) const {
    return std::ranges::any_of(cluster(u).ops, [&](ir::OpId id) {
      return m_.op(id).kind == OpKind::slice_;
    });
  }

  bool needsSums(size_t u, size_t rows) const {
    return std::ranges::any_of(cluster(u).inputs, [&](Value v) {
      auto made = maker_.find(v.index);
      return made != maker_.end() && made->second == rows && !isWhole(v, rows);
    });
  }

  double weight(size_t u) const {
    double sum = 0;
    for (ir::OpId id : cluster(u).ops) sum += opWeight(m_, m_.op(id));
    return sum;
  }

  bool fits(size_t a, size_t b) const {
    if (kernel::widestElement(m_, cluster(a)) != kernel::widestElement(m_, cluster(b)))
      return false;
    std::unordered_set<uint32_t> params;
    for (size_t u : {a, b})
      for (const auto* list : {&cluster(u).inputs, &cluster(u).outputs})
        for (Value v : *list) params.insert(v.index);
    const bool are_loops = !isRows(a) && !isRows(b);
    const double most = are_loops ? maxLoopWeight(dims(a)) : kMaxClusterWeight;
    const double sum = weight(a) + weight(b);
    if (sum <= most && params.size() <= kMaxParams) return true;
    if (!are_loops || sum > maxWideLoopWeight(dims(a))) return false;
    const size_t apart = passes(a) + passes(b), together = params.size() - passedOn(a, b);
    if (together > kMaxWideParams) return false;
    const auto narrow = static_cast<double>(narrowCut(dims(a)));
    if (sum <= most) return apart > together;
    return static_cast<double>(apart - together) >
           narrow * std::min(2.0, std::min(weight(a), weight(b)) / kWeightOfCut);
  }

  // How often an array is read or written.
  size_t passes(size_t u) const { return cluster(u).inputs.size() + cluster(u).outputs.size(); }
  // Values that one makes for the other alone.
  size_t passedOn(size_t a, size_t b) const {
    size_t values = 0;
    for (size_t u : {a, b})
      for (Value v : cluster(u).outputs) {
        auto readers = readers_.find(v.index);
        if (results_.contains(v.index) || readers == readers_.end()) continue;
        values += std::ranges::all_of(readers->second, [&](size_t r) { return r == a || r == b; });
      }
    return values;
  }

  // Whether all that `u` reads is made up to `earlier`.
  bool mayComeAt(size_t u, size_t earlier) const {
    for (Value v : cluster(u).inputs) {
      auto made = maker_.find(v.index);
      if (made != maker_.end() && made->second > earlier) return false;
    }
    return true;
  }

  // Whether what `u` makes is read by `later` at the earliest, and nothing it reads may be updated in
  // place before that.
  bool mayWaitFor(size_t u, size_t later) const {
    for (Value v : cluster(u).inputs)
      for (size_t reader : readers_.at(v.index))
        if (reader > u && reader < later && mayUpdate(reader)) return false;
    for (Value v : cluster(u).outputs) {
      auto readers = readers_.find(v.index);
      if (readers == readers_.end()) continue;
      for (size_t reader : readers->second)
        if (reader < later) return false;
    }
    return true;
  }

  bool mayUpdate(size_t u) const {
    return !units_[u].is_cluster || kernel::isInPlace(cluster(u).nest);
  }

  void merge(size_t from, size_t into) {
    const Cluster &a = cluster(into), &b = cluster(from);
    Cluster merged = isRows(into) == isRows(from) ? a : asRows(into, from);
    merged.ops.insert(merged.ops.end(), b.ops.begin(), b.ops.end());
    merged.maps.insert(merged.maps.end(), b.maps.begin(), b.maps.end());
    sortOps(merged);
    std::unordered_set<uint32_t> inside;
    for (ir::OpId id : merged.ops)
      for (Value v : m_.op(id).results) inside.insert(v.index);
    gone_[from] = true;
    for (Value v : b.inputs) replaceReader(v, from, into);
    merged.inputs.clear();
    for (const auto* list : {&a.inputs, &b.inputs})
      for (Value v : *list)
        if (!inside.contains(v.index) && inside.insert(v.index).second) merged.inputs.push_back(v);
    merged.outputs.clear();
    for (const auto* list : {&a.outputs, &b.outputs})
      for (Value v : *list) {
        maker_[v.index] = into;
        if (isReadOutside(v, into)) merged.outputs.push_back(v);
      }
    merged.alias.assign(merged.outputs.size(), -1);
    units_[into].cluster = std::move(merged);
  }

  // The first one, as part of the domain that the reductions of either go over, which has the order
  // of their operands now.
  Cluster asRows(size_t into, size_t from) {
    const size_t rows = isRows(into) ? into : from, loop = isRows(into) ? from : into;
    orderAsOperands(rows);
    if (dims(rows) != dims(loop))
      for (auto& map : units_[loop].cluster.maps) map.clear();
    Cluster merged = cluster(into);
    merged.nest = kernel::Nest::rows;
    merged.domain = cluster(rows).domain;
    merged.reduced = cluster(rows).reduced;
    return merged;
  }

  void orderAsOperands(size_t u) {
    const std::vector<int32_t> order = operandDims(u);
    Cluster& c = units_[u].cluster;
    const Cluster before = c;
    for (size_t d = 0; d < order.size(); ++d) {
      c.domain[static_cast<size_t>(order[d])] = before.domain[d];
      c.reduced[static_cast<size_t>(order[d])] = before.reduced[d];
    }
    for (auto& map : c.maps)
      for (int32_t& d : map)
        if (d >= 0) d = order[static_cast<size_t>(d)];
  }

  // In the region's order, each once, with its map.
  void sortOps(Cluster& merged) const {
    std::vector<size_t> order(merged.ops.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    auto place = [&](size_t i) { return position_.at(merged.ops[i].index); };
    std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return place(i) < place(j); });
    Cluster sorted;
    for (size_t i : order) {
      if (!sorted.ops.empty() && sorted.ops.back() == merged.ops[i]) continue;
      sorted.ops.push_back(merged.ops[i]);
      sorted.maps.push_back(std::move(merged.maps[i]));
    }
    merged.ops = std::move(sorted.ops);
    merged.maps = std::move(sorted.maps);
  }

  void replaceReader(Value v, size_t from, size_t into) {
    auto& readers = readers_[v.index];
    std::erase(readers, from);
    if (std::find(readers.begin(), readers.end(), into) == readers.end()) readers.push_back(into);
  }

  bool isReadOutside(Value v, size_t u) const {
    if (results_.contains(v.index)) return true;
    auto readers = readers_.find(v.index);
    if (readers == readers_.end()) return false;
    for (size_t reader : readers->second)
      if (reader != u) return true;
    return false;
  }

  const ir::Module& m_;
  const ir::Region& region_;
  std::vector<Unit>& units_;
  std::vector<bool> gone_;
  bool mixed_ = false;  // loops and reductions, once neither can be merged with its like
  std::unordered_map<uint32_t, uint32_t> position_;            // op -> place in the region
  std::unordered_map<uint32_t, size_t> maker_;                 // value -> unit
  std::unordered_map<uint32_t, std::vector<size_t>> readers_;  // value -> units
  std::unordered_set<uint32_t> results_;
};

}  // namespace

std::vector<Unit> mergeClusters(const ir::Module& m, ir::RegionId region, std::vector<Unit> units) {
  return Merging(m, region, units).run();
}

}  // namespace tercel::plan
