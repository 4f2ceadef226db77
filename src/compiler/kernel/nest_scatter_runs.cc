// Windows at the same place one after another, as of sorted indices: a block of them is combined in
// registers, where else each would wait for what the one before has stored. Only whole blocks: a
// branch on what is another from index to index costs more than it saves.
#include <algorithm>
#include <bit>

#include "compiler/kernel/lane_fold.h"
#include "compiler/kernel/scatter_nest.h"

namespace tercel::kernel {

using ir::AttrKey;
using ir::OpKind;

namespace {

// Whether elements may be combined in any order: by one op, of both arguments.
bool isReorderable(const ir::Module& m, ir::RegionId id) {
  const ir::Region& body = m.region(id);
  if (body.args.size() != 2 || body.ops.size() != 1) return false;
  const ir::Op& op = m.op(body.ops[0]);
  switch (op.kind) {
    case OpKind::add_:
    case OpKind::and_:
    case OpKind::maximum_:
    case OpKind::minimum_:
    case OpKind::or_:
    case OpKind::xor_:
      return body.results[0] == op.result() && op.operand(0) != op.operand(1) &&
             std::ranges::all_of(op.operands, [&](ir::Value v) {
               return std::ranges::find(body.args, v) != body.args.end();
             });
    default:
      return false;
  }
}

}  // namespace

bool ScatterNest::mayGoInRuns() const {
  constexpr int64_t kFewestIndices = 128;
  constexpr int kMostPieces = 2;  // of a line, in registers
  if (scatter_.empty() || scatter_.back() < kFewestIndices) return false;
  if (tasks_ > 1 || count_ > 1) return false;
  if (op_.ints(AttrKey::scatter_dims_to_operand_dims).size() != 1) return false;
  if (!isReorderable(m_, op_.regions[0])) return false;
  for (int64_t d : op_.ints(AttrKey::scatter_indices_batching_dims))
    if (scatterDim(d) + 1 == scatter_.size()) return false;
  if (elementCount(window_) != inner_) return false;
  return inner_ > 0 && whole_ % lanes_ == 0 && whole_ / lanes_ <= 1 &&
         whole_ / lanes_ + std::popcount(static_cast<uint64_t>(inner_ - whole_)) <= kMostPieces;
}

void ScatterNest::emitInRuns(Emitter& e, const Indices& outer, const Body& window) {
  constexpr int64_t kAtOnce = 4;
  const int64_t extent = scatter_.back(), block = vectorLanes(m_, low_.cluster, low_.machine);
  const V whole = b_.index(extent / block * block);
  auto turn = [&](V i) {
    e.scope([&] { window(indicesAt(outer, i)); });
  };
  b_.forLoop(b_.index(0), whole, block, [&](V i) {
    auto apart = [&] { return inTurns(i, block, kAtOnce, turn), Builder::Values(); };
    auto together = [&] { return emitRun(e, outer, i, block), Builder::Values(); };
    b_.ifElse(differs(outer, i, block), apart, together);
  });
  inTurns(whole, extent % block, 1, turn);
}

Indices ScatterNest::indicesAt(const Indices& outer, V i, bool vector) {
  Indices at = outer;
  at.push_back(space_.loop(i, scatter_.back(), vector));
  return at;
}

// Whether a block's indices are not all the same.
V ScatterNest::differs(const Indices& outer, V first, int64_t block) {
  const auto lanes = static_cast<int>(block);
  Emitter wide(b_, space_, m_, lanes);
  low_.bindInputs(wide);
  const V all = b_.widen(indexAt(wide, indicesAt(outer, first, true), 0).re, lanes);
  const V one = b_.splat(b_.extract(all, 0), lanes);
  return b_.any(b_.compare(Opcode::icmp, Predicate::ne, all, one));
}

void ScatterNest::emitRun(Emitter& e, const Indices& outer, V first, int64_t block) {
  const std::vector<V> start = windowStart(e, indicesAt(outer, first));
  whereBelow(limitsOf(start), [&] {
    if (window_.empty()) return emitElementRun(e, outer, first, block, start);
    Indices window(window_.size() - 1, Index(0));
    alongLine(e, [&](Emitter& on, const Index& i, const Guard&) {
      window.push_back(i);
      const Index place = placeOf(window, start);
      auto turn = [&](V k, std::span<const V> now, std::span<const Elem> like) {
        const auto held = unflatten(now, like);
        return flatten(on.scope([&] { return combined(on, indicesAt(outer, k), window, held); }));
      };
      const std::vector<Elem> there = load(on, place);
      const Builder::Values sums = b_.forLoop(
          first, b_.iadd(first, b_.index(block)), 1, flatten(there),
          [&](V k, std::span<const V> now) { return turn(k, now, there); });
      store(on, place, unflatten(sums, there));
      window.pop_back();
    });
  });
}

void ScatterNest::emitElementRun(Emitter& e, const Indices& outer, V first, int64_t block,
                                 std::span<const V> start) {
  const auto lanes = static_cast<int>(block);
  Emitter wide(b_, space_, m_, lanes);
  low_.bindInputs(wide);
  const Elem updates = elemWiden(b_, updateAt(wide, 0, indicesAt(outer, first, true), {}), lanes);
  auto merge = [&](std::span<const Elem> left, std::span<const Elem> right) {
    return e.runRegion(op_.regions[0], std::array{left[0], right[0]});
  };
  const Index place = placeOf({}, start);
  const std::vector<Elem> all = foldLanes(b_, {updates}, lanes, merge);
  store(e, place, rounded(merge(load(e, place), all)));
}

}  // namespace tercel::kernel
