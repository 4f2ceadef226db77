#include "compiler/plan/tile_loops.h"

#include <algorithm>
#include <map>

#include "compiler/ir/builder.h"
#include "compiler/ir/rename.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/tile_ops.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Cut;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::RegionId;
using ir::Type;
using ir::Value;

// One turn: the ops for one tile, and where that lies.
class Turn {
 public:
  Turn(Builder& b, const TileOps& found, const UseCounts& uses, const ir::Renamed& earlier,
       Value count)
      : m_(b.module()), b_(b), found_(found), uses_(uses), earlier_(earlier),
        zero_(b.splat(m_.shape(count), 0)) {
    int64_t inside = found.turns();
    for (int64_t own : found.counts) {
      const bool is_first = inside == found.turns();
      inside /= own;
      Value index = inside == 1 ? count : b.binary(OpKind::divide_, count, number(inside));
      if (!is_first) index = b.binary(OpKind::remainder_, index, number(own));
      index_.push_back(index);
    }
  }

  void make() {
    for (const TileOp& tiled : found_.ops) {
      const Op& op = m_.op(tiled.op);
      b_.setLocation(op.loc);
      made_[{op.result().index, tiled.tile}] = copy(op, tiled.tile, tiled.operands);
    }
  }

  Value update(Value array, Value whole) {
    const Tile& tile = found_.makerOf(whole)->tile;
    return b_.dynamicUpdateSlice(array, made_.at({whole.index, tile}), starts(whole, tile));
  }

 private:
  Value number(int64_t n) { return b_.splat(b_.shape(zero_), static_cast<double>(n)); }

  Value firstLine(size_t c, int64_t unit) {
    return unit == 1 ? index_[c] : b_.binary(OpKind::multiply_, index_[c], number(unit));
  }

  ir::Values starts(Value whole, const Tile& tile) {
    ir::Values list(static_cast<size_t>(m_.shape(whole).rank()), zero_);
    for (size_t c = 0; c < tile.size(); ++c)
      if (!tile[c].isWhole())
        list[static_cast<size_t>(tile[c].dimension)] = firstLine(c, tile[c].unit);
    return list;
  }

  Value copy(const Op& op, const Tile& tile, const std::vector<Tile>& operands) {
    ir::Values parts;
    for (size_t i = 0; i < op.operands.size(); ++i)
      parts.push_back(part(op.operand(i), operands[i]));
    std::vector<ir::Part> lines;
    for (const Cut& cut : tile) lines.push_back({cut.dimension, cut.unit});
    const OpId made = ir::copyCut(m_, op, std::move(parts), lines);
    m_.region(b_.region()).ops.push_back(made);
    return m_.op(made).result();
  }

  Value part(Value v, const Tile& tile) {
    if (auto made = earlier_.find(v.index); made != earlier_.end()) v = made->second;
    auto [at, fresh] = made_.try_emplace({v.index, tile});
    if (!fresh) return at->second;
    const Value made = makePart(v, tile);
    return made_[{v.index, tile}] = made;
  }

  // Of a value from outside: made here where that is less than to read it.
  Value makePart(Value v, const Tile& tile) {
    const Op* op = m_.def(v);
    const Shape shape = tileShape(m_.shape(v), tile);
    if (op && op->kind == OpKind::constant_ && op->literal().isSplat())
      return b_.constant(ir::Literal::splat(shape, op->literal().bytes().data()));
    if (shape == m_.shape(v)) return v;
    if (op && op->kind == OpKind::iota_) return iota(*op, shape, tile);
    if (op && (isDuplicable(m_, *op) || (uses_.of(v) == 1 && isOfOneTurn(v, tile))))
      if (auto operands = tilesOf(*op, tile)) return copy(*op, tile, *operands);
    return b_.dynamicSlice(v, starts(v, tile), shape.dims);
  }

  bool isOfOneTurn(Value v, const Tile& tile) const {
    return tileShape(m_.shape(v), tile).elements() * found_.turns() == m_.shape(v).elements();
  }

  Value iota(const Op& op, const Shape& shape, const Tile& tile) {
    const int64_t d = op.integer(AttrKey::iota_dimension);
    Value made = b_.iota(shape, d);
    for (size_t c = 0; c < tile.size(); ++c) {
      if (tile[c].dimension != d) continue;
      const Value first = b_.convert(firstLine(c, tile[c].unit), shape.dtype);
      made = b_.binary(OpKind::add_, made, b_.broadcast(first, shape, {}));
    }
    return made;
  }

  // Of the operands of an op that nothing else is made of; none where it is more than elementwise.
  std::optional<std::vector<Tile>> tilesOf(const Op& op, const Tile& tile) const {
    if (op.results.size() != 1 || !op.regions.empty() || op.operands.empty()) return {};
    if (!ir::isElementwise(op.kind) && !isFreeMovement(op.kind)) return {};
    std::vector<Tile> operands(op.operands.size());
    for (const Cut& cut : tile) {
      if (cut.isWhole()) {
        for (Tile& own : operands) own.push_back({});
        continue;
      }
      const auto cuts = ir::operandCuts(m_, op, cut);
      if (!cuts) return {};
      for (size_t i = 0; i < operands.size(); ++i) operands[i].push_back((*cuts)[i]);
    }
    if (!keepsElements(m_, op, tile, operands[0])) return {};
    return operands;
  }

  ir::Module& m_;
  Builder& b_;
  const TileOps& found_;
  const UseCounts& uses_;
  const ir::Renamed& earlier_;  // what loops before this one made
  const Value zero_;
  std::vector<Value> index_;
  std::map<std::pair<uint32_t, Tile>, Value> made_;
};

class LoopMaker {
 public:
  LoopMaker(ir::Module& m, RegionId region) : m_(m), region_(region), uses_(m, region) {}

  bool run() {
    constexpr int kMostLoops = 64;
    std::vector<OpId> done, rest = m_.region(region_).ops;
    for (int i = 0; i < kMostLoops; ++i) {
      auto found = findTileOps(m_, rest, uses_);
      if (!found) break;
      done.insert(done.end(), found->before.begin(), found->before.end());
      loop(*found, done);
      rest = std::move(found->after);
    }
    if (renamed_.empty()) return false;
    done.insert(done.end(), rest.begin(), rest.end());
    m_.region(region_).ops = std::move(done);
    ir::rename(m_, region_, renamed_);
    return true;
  }

 private:
  void loop(const TileOps& found, std::vector<OpId>& ops) {
    Builder before(m_, m_.addRegion(), m_.op(found.ops.front().op).loc);
    const Type count{Shape{DType::s32, {}}};
    ir::Values operands = {before.splat(count.shape, 0)};
    std::vector<Type> types = {count};
    for (Value v : found.wanted) {
      operands.push_back(before.splat(m_.shape(v), 0));
      types.push_back(m_.type(v));
    }
    const RegionId condition = m_.addRegion(), body = m_.addRegion();
    for (RegionId region : {condition, body})
      for (const Type& type : types) m_.addArg(region, type);
    Builder check(m_, condition);
    const Value limit = check.splat(count.shape, static_cast<double>(found.turns()));
    m_.region(condition).results = {check.compare(m_.region(condition).args[0], limit, "LT")};
    makeBody(found, body);
    const OpId made = before.append(OpKind::while_, operands, types,
                                    {{AttrKey::parallel_turns, found.turns()}});
    m_.op(made).regions = {condition, body};
    for (size_t i = 0; i < found.wanted.size(); ++i)
      renamed_[found.wanted[i].index] = m_.op(made).result(i + 1);
    const std::vector<OpId>& added = m_.region(before.region()).ops;
    ops.insert(ops.end(), added.begin(), added.end());
  }

  void makeBody(const TileOps& found, RegionId body) {
    Builder b(m_, body);
    const Value count = m_.region(body).args[0];
    Turn turn(b, found, uses_, renamed_, count);
    turn.make();
    ir::Values results = {b.binary(OpKind::add_, count, b.splat(m_.shape(count), 1))};
    for (size_t i = 0; i < found.wanted.size(); ++i)
      results.push_back(turn.update(m_.region(body).args[i + 1], found.wanted[i]));
    m_.region(body).results = results;
  }

  ir::Module& m_;
  const RegionId region_;
  const UseCounts uses_;
  ir::Renamed renamed_;
};

bool loopInside(ir::Module& m, RegionId region) {
  std::vector<OpId> ops = m.region(region).ops;
  const bool may_gain =
      std::ranges::any_of(ops, [&](OpId id) { return isLargeProduct(m, m.op(id)); });
  bool found = may_gain && LoopMaker(m, region).run();
  ops = m.region(region).ops;
  for (OpId id : ops) {
    if (m.op(id).kind != OpKind::while_ || m.op(id).has(AttrKey::parallel_turns)) continue;
    found |= loopInside(m, m.op(id).regions[1]);
  }
  return found;
}

}  // namespace

bool loopOverTiles(ir::Module& module) { return loopInside(module, module.main().body); }

}  // namespace tercel::plan
