// A running reduction along one dimension (cumsum), with what feeds it and what uses it: each
// element is read once.
//
// Columns carry a vector of independent sums. Along a row, each vector is scanned by itself in log2
// steps of shuffles (Hillis and Steele), and what came before it enters last, so that only one
// combination a vector waits for the one before. Of short rows, a vector holds several.
#include <algorithm>

#include "compiler/ir/prefix_scan.h"
#include "compiler/kernel/lane_plan.h"

namespace tercel::kernel {
namespace {

using ir::Op;
using ir::Value;

class ScanNest {
 public:
  explicit ScanNest(Lowering& low)
      : m_(low.module), low_(low), b_(low.builder), space_(b_), plan_(low, space_),
        op_(scanOf(low)), scan_(*ir::prefixScan(m_, op_)), dims_(m_.shape(op_.result()).dims) {}

  void run() {
    std::vector<bool> walked(dims_.size(), false);
    walked[scan_.dimension] = true;
    plan_.choose(dims_, walked, [&](Emitter& e, const Indices& i) { probe(e, i); }, true);
    streaming_ = plan_.streams();
    packed_ = plan_.packRows();
    constexpr int64_t kAccumulators = 8;
    int64_t width = std::max<int64_t>(1, kAccumulators / static_cast<int64_t>(lanesOfScan()));
    plan_.forTasks(width, [&](Emitter& e, const std::vector<Index>& groups,
                              std::span<const Position> columns) {
      if (packed_ > 0) return emitPacked(e, groups, columns[0]);
      plan_.rows() ? emitRow(e, groups) : emitColumns(e, groups, columns);
    });
  }

 private:
  static const Op& scanOf(const Lowering& low) {
    for (ir::OpId id : low.cluster.ops)
      if (ir::prefixScan(low.module, low.module.op(id))) return low.module.op(id);
    TERCEL_CHECK(false, "a scan nest without a scan");
    return low.module.op(low.cluster.ops[0]);
  }

  size_t lanesOfScan() const { return op_.results.size(); }

  std::vector<Elem> operands(Emitter& e, const Indices& at) {
    std::vector<Elem> elems;
    for (size_t k = 0; k < lanesOfScan(); ++k) elems.push_back(e.at(op_.operand(k), at));
    return elems;
  }

  std::vector<Elem> start(Emitter& e, int lanes) {
    std::vector<Elem> elems;
    for (size_t k = 0; k < lanesOfScan(); ++k)
      elems.push_back(elemWiden(b_, e.at(op_.operand(lanesOfScan() + k), {}), lanes));
    return elems;
  }

  void probe(Emitter& e, const Indices& at) { finish(e, at, operands(e, at)); }

  // Everything that uses the scan's elements at one place.
  void finish(Emitter& e, const Indices& at, const std::vector<Elem>& scanned) {
    for (size_t k = 0; k < lanesOfScan(); ++k) {
      Value v = op_.result(k);
      e.bindElem(v, {roundTo(e.builder(), scanned[k].re, m_.shape(v).dtype), scanned[k].im});
    }
    for (size_t o = 0; o < low_.cluster.outputs.size(); ++o) {
      Elem elem = e.at(low_.cluster.outputs[o], at);
      e.streaming = streaming_;
      low_.storeOutput(e, o, e.space().linear(at, dims_), elem);
      e.streaming = false;
    }
  }

  // The reducer on what comes before in the scan's order and what comes after.
  std::vector<Elem> combine(Emitter& e, const std::vector<Elem>& before,
                            const std::vector<Elem>& after) {
    std::vector<Elem> args = scan_.reverse ? after : before;
    const std::vector<Elem>& second = scan_.reverse ? before : after;
    args.insert(args.end(), second.begin(), second.end());
    return e.runRegion(op_.regions[0], args);
  }

  std::vector<Elem> widened(std::vector<Elem> elems) {
    for (Elem& x : elems) x = elemWiden(b_, x, plan_.lanes());
    return elems;
  }

  // Loops over the scanned groups, in the scan's order; those of rows but the vectorised one.
  using Inner = std::function<std::vector<Elem>(std::vector<Index>&, std::vector<Elem>)>;
  std::vector<Elem> scannedLoops(Emitter& e, size_t group, const std::vector<Index>& groups,
                                 std::vector<Elem> now, const Inner& inner) {
    size_t count = plan_.loops().groups.size();
    while (group < count && (!plan_.isWalked(group) || (plan_.rows() && group == plan_.vector())))
      ++group;
    std::vector<Index> next = groups;
    if (group == count) return inner(next, std::move(now));
    int64_t extent = plan_.loops().groupExtent(group);
    return elemLoop(e, 0, extent, 1, std::move(now), [&](V i, std::vector<Elem> values) {
      V at = scan_.reverse ? b_.isub(b_.index(extent - 1), i) : i;
      next[group] = space_.loop(at, extent);
      return scannedLoops(e, group + 1, next, std::move(values), inner);
    });
  }

  void emitColumns(Emitter& e, const std::vector<Index>& groups,
                   std::span<const Position> columns) {
    std::vector<Elem> now;
    size_t n = lanesOfScan();
    for (size_t w = 0; w < columns.size(); ++w)
      for (const Elem& x : start(e, plan_.lanes())) now.push_back(x);
    scannedLoops(e, 0, groups, now, [&](std::vector<Index>& at, std::vector<Elem> values) {
      for (size_t w = 0; w < columns.size(); ++w) {
        auto part = values.begin() + static_cast<int64_t>(w * n);
        at[plan_.vector()] = columns[w].index;
        std::vector<Elem> next = e.guarded(columns[w].guard, [&] {
          return columnStep(e, plan_.domainAt(at), {part, part + static_cast<int64_t>(n)});
        });
        std::ranges::copy(next, part);
      }
      return values;
    });
  }

  std::vector<Elem> columnStep(Emitter& e, const Indices& at, const std::vector<Elem>& before) {
    std::vector<Elem> next = widened(combine(e, before, operands(e, at)));
    finish(e, at, next);
    return next;
  }

  // Whole vectors lie at multiples of the lanes; the rest is at the end of the row, where a reverse
  // scan begins.
  void emitRow(Emitter& e, const std::vector<Index>& groups) {
    scannedLoops(e, 0, groups, start(e, 1), [&](std::vector<Index>& at, std::vector<Elem> before) {
      int64_t lanes = plan_.lanes(), extent = plan_.vectorExtent(), whole = extent / lanes * lanes;
      auto rest = [&] {
        if (whole < extent) before = vectorStep(e, at, b_.index(whole), extent - whole, before);
      };
      if (scan_.reverse) e.scope(rest);
      before = elemLoop(e, 0, whole, lanes, before, [&](V i, std::vector<Elem> values) {
        V place = scan_.reverse ? b_.isub(b_.index(whole - lanes), i) : i;
        return vectorStep(e, at, place, lanes, values);
      });
      if (!scan_.reverse) e.scope(rest);
      return before;
    });
  }

  std::vector<Elem> vectorStep(Emitter& e, std::vector<Index> groups, V place, int64_t count,
                               const std::vector<Elem>& before) {
    if (!plan_.empty()) groups[plan_.vector()] = plan_.vectorIndex(place);
    Guard guard = count < plan_.lanes() ? firstLanes(b_, plan_.lanes(), b_.index(count)) : Guard{};
    return e.guarded(guard, [&] {
      Indices at = plan_.domainAt(groups);
      std::vector<Elem> sums = scanLanes(e, widened(operands(e, at)), count);
      std::vector<Elem> all;
      for (const Elem& x : sums) all.push_back(lane(x, scan_.reverse ? 0 : count - 1));
      finish(e, at, combine(e, widened(before), sums));
      return combine(e, before, all);
    });
  }

  // Of a block that is not whole, each vector asks how many rows are left. Where machines have no
  // masks, vectors of whole ones go on into the rows that the next one stores.
  void emitPacked(Emitter& e, const std::vector<Index>& groups, const Position& rows) {
    const V end = b_.iadd(rows.first, rows.count);
    auto wholeBlock = [&] {
      V first = rows.first;
      if (storesOver(low_)) {
        first = b_.isub(end, b_.index(packed_));
        packedLoop(e, groups, rows.first, first, [](V) { return Guard{}; });
      }
      const Guard guard = firstRows(b_.index(packed_));
      packedLoop(e, groups, first, end, [&](V) { return guard; });
      return Builder::Values{};
    };
    auto partOfBlock = [&] {
      packedLoop(e, groups, rows.first, end, [&](V row) {
        return firstRows(b_.binary(Opcode::smin, b_.isub(end, row), b_.index(packed_)));
      });
      return Builder::Values{};
    };
    const V block = b_.index(plan_.blockRows());
    if (plan_.rowCount() % plan_.blockRows() == 0)
      wholeBlock();
    else
      b_.ifElse(b_.compare(Opcode::icmp, Predicate::eq, rows.count, block), wholeBlock, partOfBlock);
  }

  void packedLoop(Emitter& e, const std::vector<Index>& groups, V first, V end,
                  const std::function<Guard(V)>& guardAt) {
    elemLoop(e, first, end, packed_, {}, [&](V row, std::vector<Elem>) {
      packedStep(e, groups, row, guardAt(row));
      return std::vector<Elem>();
    });
  }

  Guard firstRows(V count) {
    const int64_t length = plan_.vectorExtent();
    uint64_t rows;
    if (b_.isConstant(count, &rows) && static_cast<int64_t>(rows) * length == plan_.lanes())
      return {};
    return firstLanes(b_, plan_.lanes(), b_.imul(count, b_.index(length)));
  }

  void packedStep(Emitter& e, std::vector<Index> groups, V row, const Guard& guard) {
    const int64_t length = plan_.vectorExtent();
    const Index lane = space_.loop(b_.index(0), plan_.lanes(), true);
    groups[plan_.rowGroup()] =
        space_.add(space_.loop(row, plan_.rowCount()), space_.quotient(lane, length));
    groups[plan_.vector()] = space_.remainder(lane, length);
    e.guarded(guard, [&] {
      Indices at = plan_.domainAt(groups);
      std::vector<Elem> sums = scanLanes(e, widened(operands(e, at)), length);
      finish(e, at, combine(e, start(e, plan_.lanes()), sums));
    });
  }

  Elem lane(const Elem& x, int64_t at) {
    if (plan_.lanes() == 1) return x;
    int n = static_cast<int>(at);
    return {b_.extract(x.re, n), x.im.valid() ? b_.extract(x.im, n) : V{}};
  }

  // The scan of the first `count` lanes among themselves, or of so many after each other.
  std::vector<Elem> scanLanes(Emitter& e, std::vector<Elem> sums, int64_t count) {
    const int lanes = plan_.lanes();
    Type ids{Scalar::i32, static_cast<uint16_t>(lanes)};
    V place = b_.laneIds(ids);
    if (packed_ > 0) {
      std::vector<int16_t> in_row;
      for (int i = 0; i < lanes; ++i) in_row.push_back(static_cast<int16_t>(i % count));
      place = b_.shuffle(place, place, in_row);
    }
    for (int step = 1; step < count; step *= 2) {
      std::vector<int16_t> from;
      for (int i = 0; i < lanes; ++i)
        from.push_back(static_cast<int16_t>(
            std::clamp(scan_.reverse ? i + step : i - step, 0, lanes - 1)));
      std::vector<Elem> moved;
      for (const Elem& x : sums)
        moved.push_back({b_.shuffle(x.re, x.re, from),
                         x.im.valid() ? b_.shuffle(x.im, x.im, from) : V{}});
      Predicate side = scan_.reverse ? Predicate::slt : Predicate::sge;
      V has = b_.compare(Opcode::icmp, side, place,
                         b_.integer(ids, scan_.reverse ? count - step : step));
      std::vector<Elem> both = widened(combine(e, moved, sums));
      for (size_t k = 0; k < sums.size(); ++k) sums[k] = elemSelect(b_, has, both[k], sums[k]);
    }
    return sums;
  }

  const ir::Module& m_;
  Lowering& low_;
  Builder& b_;
  IndexSpace space_;
  LanePlan plan_;
  const Op& op_;
  ir::PrefixScan scan_;
  const Dims& dims_;
  bool streaming_ = false;
  int64_t packed_ = 0;  // rows in a vector, where it holds several
};

}  // namespace

Status lowerScan(Lowering& low) {
  ScanNest(low).run();
  return Status();
}

}  // namespace tercel::kernel
