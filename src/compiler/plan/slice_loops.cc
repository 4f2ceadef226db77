#include "compiler/plan/slice_loops.h"

#include <algorithm>

#include "compiler/ir/rename.h"
#include "compiler/kernel/nest.h"
#include "compiler/plan/captures.h"
#include "compiler/plan/flat_loop.h"
#include "compiler/plan/region.h"
#include "compiler/plan/slice_maker.h"

namespace tercel::plan {
namespace {

using ir::Builder;
using ir::Cut;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::RegionId;
using ir::Type;
using ir::Value;

// The loop over slices, `size` rows at a time. Its results: the count, then those of the loop that
// are cut, in their order. Ops go to `before` and the loop after them.
class SlicedLoop {
 public:
  SlicedLoop(Builder& before, const Op& loop, const LoopCuts& cuts, int64_t size)
      : m_(before.module()), before_(before), loop_(loop), cuts_(cuts), size_(size),
        count_{Shape{cuts.count, {}}} {}

  OpId make() {
    ir::Values operands = {before_.splat(count_.shape, 0)};
    std::vector<Type> types = {count_};
    for (size_t i : cut()) {
      operands.push_back(loop_.operand(i));
      types.push_back(m_.type(loop_.operand(i)));
    }
    const RegionId condition = m_.addRegion(), turn = m_.addRegion();
    for (RegionId region : {condition, turn})
      for (const Type& type : types) m_.addArg(region, type);
    Builder check(m_, condition, loop_.loc);
    const Value limit = check.splat(count_.shape, static_cast<double>(cuts_.rows));
    m_.region(condition).results = {check.compare(m_.region(condition).args[0], limit, "LT")};
    makeTurn(turn);
    const OpId made = before_.append(OpKind::while_, operands, types);
    m_.op(made).regions = {condition, turn};
    return made;
  }

 private:
  std::vector<size_t> cut() const {
    std::vector<size_t> list;
    for (size_t i = 0; i < cuts_.carried.size(); ++i)
      if (!cuts_.carried[i].cut.isWhole()) list.push_back(i);
    return list;
  }

  void makeTurn(RegionId turn) {
    const ir::Region& body = m_.region(loop_.regions[1]);
    const ir::Region& condition = m_.region(loop_.regions[0]);
    const RegionId check = m_.addRegion(), step = m_.addRegion();
    Builder outside(m_, turn, loop_.loc), inside(m_, step, loop_.loc), test(m_, check, loop_.loc);
    const Value first = m_.region(turn).args[0];
    SliceMaker maker(outside, inside, body, first, size_);
    std::vector<Value> arrays(cuts_.carried.size());
    for (size_t k = 1; size_t i : cut()) arrays[i] = m_.region(turn).args[k++];

    ir::Values starts;
    std::vector<Type> types;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const auto& [cut, is_stack, known] = cuts_.carried[i];
      Value v = cut.isWhole() ? loop_.operand(i) : arrays[i];
      if (!cut.isWhole() && !is_stack) v = maker.sliceOf(outside, v, cut);
      starts.push_back(v);
      types.push_back(m_.type(v));
      maker.bind(condition.args[i], {}, m_.addArg(check, types[i]));
      maker.bind(body.args[i], is_stack ? Cut{} : cut, m_.addArg(step, types[i]));
    }
    maker.copyAll(condition, test);
    m_.region(check).results = {maker.make(condition.results[0], {})};
    ir::Values results;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const auto& [cut, is_stack, known] = cuts_.carried[i];
      results.push_back(is_stack ? maker.updateStack(*m_.def(body.results[i]),
                                                     m_.region(step).args[i], cut)
                                 : maker.make(body.results[i], cut));
    }
    m_.region(step).results = results;
    const OpId made = outside.append(OpKind::while_, starts, types);
    m_.op(made).regions = {check, step};

    const Value stride = outside.splat(count_.shape, static_cast<double>(size_));
    ir::Values next = {outside.binary(OpKind::add_, first, stride)};
    for (size_t i : cut()) {
      const Value v = m_.op(made).result(i);
      const auto& [cut, is_stack, known] = cuts_.carried[i];
      next.push_back(is_stack ? v : maker.update(outside, arrays[i], v, cut));
    }
    m_.region(turn).results = next;
  }

  ir::Module& m_;
  Builder& before_;
  const Op& loop_;
  const LoopCuts& cuts_;
  const int64_t size_;
  const Type count_;
};

class LoopSlicer {
  static constexpr size_t kMostOps = 300;  // of a loop's body
  static constexpr double kWorthThreads = 100e3, kWorthRegisters = 5e3;  // ns

 public:
  explicit LoopSlicer(ir::Module& m) : m_(m), body_(m.region(m.main().body)) {}

  bool run() {
    std::vector<OpId> ops;
    for (OpId id : body_.ops) {
      const Op& op = m_.op(id);
      const auto sliced = op.kind == OpKind::while_ ? slice(op) : std::vector<OpId>();
      if (sliced.empty()) ops.push_back(id);
      ops.insert(ops.end(), sliced.begin(), sliced.end());
    }
    if (renamed_.empty()) return false;
    body_.ops = std::move(ops);
    ir::rename(m_, m_.main().body, renamed_);
    return true;
  }

 private:
  // The ops instead of it, if any.
  std::vector<OpId> slice(const Op& loop) {
    if (m_.region(loop.regions[1]).ops.size() > kMostOps) return {};
    if (auto ops = sliceInRegisters(loop); !ops.empty()) return ops;
    const auto cuts = cutsOf(loop, loop);
    if (!cuts) return {};
    for (int64_t size : sizes(loop, *cuts)) {
      Builder before(m_, m_.addRegion(), loop.loc);
      if (auto ops = sliced(before, loop, loop, *cuts, size, kWorthThreads); !ops.empty())
        return ops;
    }
    return {};
  }

  // So few elements at a time that all turns of the loop keep them in registers.
  std::vector<OpId> sliceInRegisters(const Op& loop) {
    const int64_t size = sizeInRegisters(loop);
    if (size == 0) return {};
    Builder before(m_, m_.addRegion(), loop.loc);
    const auto flat = flatLoop(before, loop, size);
    const auto cuts = flat ? cutsOf(m_.op(*flat), loop) : std::nullopt;
    if (!cuts) return {};
    return sliced(before, m_.op(*flat), loop, *cuts, size, kWorthRegisters);
  }

  // What `before` has made and the loop over slices, whose results are those of `whole` from now
  // on; none where that takes less than `least` nanoseconds.
  std::vector<OpId> sliced(Builder& before, const Op& loop, const Op& whole, const LoopCuts& cuts,
                           int64_t size, double least) {
    const OpId made = SlicedLoop(before, loop, cuts, size).make();
    if (!isWorthIt(made, least)) return {};
    replace(before, whole, m_.op(made), cuts);
    return m_.region(before.region()).ops;
  }

  // Whole vectors; 0 where one slice has all elements.
  int64_t sizeInRegisters(const Op& loop) const {
    constexpr int64_t kVectorBytes = 64, kRegisters = 24, kMostPadded = 64 << 20;
    int64_t arrays = 0, widest = 1, elements = 0;
    auto count = [&](Value v) {
      if (m_.type(v).is_token || m_.shape(v).rank() == 0) return;
      ++arrays;
      widest = std::max<int64_t>(widest, byteSize(m_.shape(v).dtype));
      elements = std::max(elements, m_.shape(v).elements());
    };
    for (Value v : loop.operands) count(v);
    const int64_t carried = arrays;
    for (Value v : captures(m_, loop)) count(v);
    if (arrays == 0) return 0;
    const int64_t lanes = kVectorBytes / widest;
    int64_t best = 0;
    double least = 0;
    // What takes long hides behind more of it.
    const bool is_costly = std::ranges::any_of(
        m_.region(loop.regions[1]).ops, [&](OpId id) { return ir::isCostly(m_.op(id).kind); });
    const int64_t most = is_costly && carried == 1 ? 8 : 4;
    for (int64_t n = std::clamp<int64_t>(kRegisters / arrays, 1, most); n > 0; --n) {
      const int64_t size = n * lanes, padded = (elements + size - 1) / size * size;
      if (padded != elements && elements * widest > kMostPadded) continue;
      // Vectors side by side hide how long each takes; padding is a copy of its own.
      const double cost = static_cast<double>(padded) * (1 + 0.5 / static_cast<double>(n)) *
                          (padded == elements ? 1 : 1.05);
      if (best > 0 && cost >= least) continue;
      best = size;
      least = cost;
    }
    return elements > best ? best : 0;  // none, or one for all
  }

  // `whole` is the loop that others read the results of.
  std::optional<LoopCuts> cutsOf(const Op& loop, const Op& whole) const {
    for (size_t seed : bySize(loop))
      for (int64_t d = 0; d < m_.shape(loop.operand(seed)).rank(); ++d)
        if (auto cuts = findLoopCuts(m_, loop, seed, d); cuts && isAllUsed(whole, *cuts))
          return cuts;
    return {};
  }

  // The arrays that it carries, the largest first.
  std::vector<size_t> bySize(const Op& loop) const {
    std::vector<size_t> list;
    for (size_t i = 0; i < loop.operands.size(); ++i)
      if (!m_.type(loop.operand(i)).is_token && m_.shape(loop.operand(i)).elements() > 1)
        list.push_back(i);
    std::ranges::stable_sort(list, std::greater(), [&](size_t i) {
      return m_.shape(loop.operand(i)).elements();
    });
    return list;
  }

  // What no row has a part of is not given out.
  bool isAllUsed(const Op& loop, const LoopCuts& cuts) const {
    auto reads = [&](Value v) {
      return std::ranges::count(body_.results, v) > 0 ||
             std::ranges::any_of(body_.ops, [&](OpId id) {
               const Op& op = m_.op(id);
               return std::ranges::count(op.operands, v) + std::ranges::count(captures(m_, op), v) > 0;
             });
    };
    for (size_t i = 0; i < cuts.carried.size(); ++i)
      if (cuts.carried[i].cut.isWhole() && reads(loop.result(i))) return false;
    return true;
  }

  // Rows of a slice to try, the most first: a few slices at least, of whole vectors.
  std::vector<int64_t> sizes(const Op& loop, const LoopCuts& cuts) const {
    constexpr int64_t kFewestRows = 8, kFewestElements = 64, kFewestSlices = 4, kMost = 2048;
    int64_t row = 1, fewest = kFewestRows;
    for (size_t i = 0; i < cuts.carried.size(); ++i) {
      const Shape& shape = m_.shape(loop.operand(i));
      const auto& [cut, is_stack, known] = cuts.carried[i];
      if (cut.isWhole() || is_stack) continue;
      row = std::max(row, shape.elements() / cuts.rows);
      if (cut.dimension + 1 == shape.rank()) fewest = kFewestElements;
    }
    fewest = std::max(fewest, kFewestElements / row);
    std::vector<int64_t> list;
    for (int64_t slices = 2; slices <= cuts.rows / fewest; ++slices) {
      const int64_t size = cuts.rows / slices;
      const bool few = slices < kFewestSlices && cuts.rows / kFewestSlices >= fewest;
      if (cuts.rows % slices == 0 && size * row <= kMost && !few) list.push_back(size);
    }
    if (list.size() > 4) list.resize(4);
    return list;
  }

  bool isWorthIt(OpId made, double least) const {
    const auto cluster = regionCluster(m_, made);
    return cluster && cluster->is_parallel &&
           kernel::clusterCost(m_, *cluster, {}) >= least;
  }

  void replace(Builder& after, const Op& loop, const Op& made, const LoopCuts& cuts) {
    for (size_t i = 0, k = 1; i < cuts.carried.size(); ++i) {
      if (cuts.carried[i].cut.isWhole()) continue;
      const Value v = made.result(k++), old = loop.result(i);
      const bool is_same = m_.shape(v) == m_.shape(old);
      renamed_[old.index] = is_same ? v : unflattened(after, v, m_.shape(old).dims);
    }
  }

  ir::Module& m_;
  ir::Region& body_;
  ir::Renamed renamed_;
};

}  // namespace

bool sliceLoops(ir::Module& module) { return LoopSlicer(module).run(); }

}  // namespace tercel::plan
