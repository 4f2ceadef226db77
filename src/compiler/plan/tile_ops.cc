#include "compiler/plan/tile_ops.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/plan/captures.h"
#include "compiler/plan/late_ops.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Cut;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

int64_t tileBytes(const ir::Module& m, Value v, const Tile& tile) {
  return tileShape(m.shape(v), tile).bytes();
}

// Goes through the ops from a product on, and takes what is made of its tiles by tiles.
class TileSearch {
  static constexpr size_t kFurthest = 200;  // ops

 public:
  TileSearch(const ir::Module& m, const UseCounts& uses, OpId seed, Tile tile)
      : m_(m), uses_(uses), seed_(seed), tile_(std::move(tile)) {
    const Dims& dims = m.shape(m.op(seed).result()).dims;
    for (const Cut& cut : tile_)
      found_.counts.push_back(dims[static_cast<size_t>(cut.dimension)] / cut.unit);
  }

  TileOps run(std::span<const OpId> ops) {
    const auto first = static_cast<size_t>(std::ranges::find(ops, seed_) - ops.begin());
    const size_t last = std::min(ops.size(), first + kFurthest);
    found_.before.assign(ops.begin(), ops.begin() + static_cast<int64_t>(first));
    for (OpId id : ops.subspan(first, last - first)) visit(id);
    found_.after.insert(found_.after.end(), ops.begin() + static_cast<int64_t>(last), ops.end());
    findWanted();
    return std::move(found_);
  }

 private:
  void visit(OpId id) {
    const Op& op = m_.op(id);
    const std::vector<Value> reads = readsOf(m_, op);
    bool is_late = late_.isBefore(op, reads);
    if (auto tiled = is_late ? std::nullopt : tileOp(id)) {
      found_.made_by[op.result().index] = found_.ops.size();
      return found_.ops.push_back(std::move(*tiled));
    }
    for (Value v : reads) is_late |= found_.makerOf(v) != nullptr;
    (is_late ? found_.after : found_.before).push_back(id);
    if (is_late) late_.add(op);
  }

  void findWanted() {
    std::unordered_map<uint32_t, int> inside;
    for (const TileOp& tiled : found_.ops)
      for (Value v : m_.op(tiled.op).operands) ++inside[v.index];
    for (const TileOp& tiled : found_.ops)
      if (const Value v = m_.op(tiled.op).result(); uses_.of(v) > inside[v.index])
        found_.wanted.push_back(v);
  }

  std::optional<TileOp> tileOp(OpId id) const {
    const Op& op = m_.op(id);
    const bool is_seed = id == seed_;
    auto in_tiles = [&](Value v) { return found_.makerOf(v) != nullptr; };
    if (!is_seed && std::ranges::none_of(op.operands, in_tiles)) return {};
    if (op.results.size() != 1 || m_.type(op.result()).is_token) return {};
    const bool reduces = op.kind == OpKind::reduce_ && captures(m_, op).empty();
    if (!op.regions.empty() && !reduces) return {};
    TileOp made{id, {}, std::vector<Tile>(op.operands.size())};
    for (size_t c = 0; c < tile_.size(); ++c)
      if (!(is_seed ? cutAt(op, c, tile_[c], made) : cutSomewhere(op, c, made))) return {};
    if (!keepsElements(m_, op, made.tile, made.operands[0])) return {};
    return made;
  }

  bool cutSomewhere(const Op& op, size_t c, TileOp& made) const {
    const Dims& dims = m_.shape(op.result()).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t count = found_.counts[c];
      if (dims[d] == 0 || dims[d] % count != 0) continue;
      if (cutAt(op, c, {static_cast<int64_t>(d), dims[d] / count}, made)) return true;
    }
    return false;
  }

  // What tiles are made of is cut as it was made; anything else may be cut anywhere, but each
  // dimension in one direction only.
  bool cutAt(const Op& op, size_t c, Cut cut, TileOp& made) const {
    auto isTaken = [](const Tile& tile, const Cut& own) {
      return !own.isWhole() && std::ranges::count(tile, own.dimension, &Cut::dimension) > 0;
    };
    const auto cuts = ir::operandCuts(m_, op, cut);
    if (!cuts || isTaken(made.tile, cut)) return false;
    for (size_t i = 0; i < cuts->size(); ++i) {
      const TileOp* maker = found_.makerOf(op.operand(i));
      if (maker && maker->tile[c] != (*cuts)[i]) return false;
      if (isTaken(made.operands[i], (*cuts)[i])) return false;
    }
    made.tile.push_back(cut);
    for (size_t i = 0; i < cuts->size(); ++i) made.operands[i].push_back((*cuts)[i]);
    return true;
  }

  const ir::Module& m_;
  const UseCounts& uses_;
  const OpId seed_;
  const Tile tile_;
  TileOps found_;
  LateOps late_;  // that need whole results
};

// Bytes that go through memory.
struct Traffic {
  int64_t saved = 0;   // by tiles that stay in the cache
  int64_t tile = 0;    // of all that lies between the ops of one tile
  int64_t again = 0;   // read once more for each tile
};

// Products write their results and read their operands; what else there is fuses with something.
Traffic trafficOf(const ir::Module& m, const TileOps& found) {
  Traffic traffic;
  std::unordered_set<uint32_t> stored;
  auto store = [&](Value v) {
    const TileOp* maker = found.makerOf(v);
    if (!maker || !stored.insert(v.index).second) return;
    const bool is_wanted = std::ranges::count(found.wanted, v) > 0;
    traffic.saved += m.shape(v).bytes() * (is_wanted ? 1 : 2);
    traffic.tile += tileBytes(m, v, maker->tile);
  };
  auto kindOf = [&](const TileOp& tiled) { return m.op(tiled.op).kind; };
  const bool ends_there = std::ranges::count(found.ops, OpKind::dot_general_, kindOf) == 1 &&
                          std::ranges::count(found.ops, OpKind::reduce_, kindOf) == 0;
  for (const TileOp& tiled : found.ops) {
    const Op& op = m.op(tiled.op);
    const bool is_product = op.kind == OpKind::dot_general_;
    if (is_product && !ends_there) store(op.result());
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Value v = op.operand(i);
      if (is_product) store(v);
      if (found.makerOf(v)) continue;
      const int64_t bytes = m.shape(v).bytes();
      traffic.again += tileBytes(m, v, tiled.operands[i]) * found.turns() - bytes;
    }
  }
  return traffic;
}

int64_t largestDivisor(int64_t lines, int64_t most) {
  while (most > 1 && (lines % most != 0 || most % 8 != 0)) --most;
  return most;
}

class Tilings {
  static constexpr int64_t kWorth = 8 << 20, kCache = 5 << 19;  // bytes
  static constexpr int64_t kFewestTurns = 16, kMostRows = 256, kFewestRows = 32;

 public:
  Tilings(const ir::Module& m, const UseCounts& uses, std::span<const OpId> ops)
      : m_(m), uses_(uses), ops_(ops) {}

  std::optional<TileOps> best(OpId seed) {
    const Op& op = m_.op(seed);
    const Dims& dims = m_.shape(op.result()).dims;
    const size_t batches = op.ints(AttrKey::lhs_batching_dimensions).size();
    Tile batch;
    for (size_t d = 0; d < batches; ++d)
      if (dims[d] > 1) batch.push_back({static_cast<int64_t>(d), 1});
    attempt(seed, batch);
    for (size_t d = batches; d < dims.size(); ++d)
      for (int64_t most = kMostRows; most >= kFewestRows; most /= 2) {
        const int64_t rows = largestDivisor(dims[d], std::min(most, dims[d] / 2));
        if (2 * rows <= most) continue;
        Tile tile = batch;
        tile.push_back({static_cast<int64_t>(d), rows});
        attempt(seed, tile);
      }
    return std::move(best_);
  }

 private:
  void attempt(OpId seed, const Tile& tile) {
    if (tile.empty()) return;
    TileOps found = TileSearch(m_, uses_, seed, tile).run(ops_);
    const Traffic traffic = trafficOf(m_, found);
    const int64_t gain = traffic.saved - 2 * traffic.again;
    if (gain < kWorth || gain <= gain_) return;
    if (traffic.tile > kCache || found.turns() < kFewestTurns) return;
    gain_ = gain;
    best_ = std::move(found);
  }

  const ir::Module& m_;
  const UseCounts& uses_;
  const std::span<const OpId> ops_;
  std::optional<TileOps> best_;
  int64_t gain_ = 0;
};

}  // namespace

const TileOp* TileOps::makerOf(Value v) const {
  auto at = made_by.find(v.index);
  return at == made_by.end() ? nullptr : &ops[at->second];
}

int64_t TileOps::turns() const {
  int64_t product = 1;
  for (int64_t count : counts) product *= count;
  return product;
}

bool isLargeProduct(const ir::Module& m, const Op& op) {
  constexpr int64_t kLarge = 2 << 20;  // bytes
  return op.kind == OpKind::dot_general_ && m.shape(op.result()).bytes() >= kLarge;
}

Shape tileShape(const Shape& whole, const Tile& tile) {
  Shape shape = whole;
  for (const Cut& cut : tile)
    if (!cut.isWhole()) shape.dims[static_cast<size_t>(cut.dimension)] = cut.unit;
  return shape;
}

bool keepsElements(const ir::Module& m, const Op& op, const Tile& tile, const Tile& operand) {
  return op.kind != OpKind::reshape_ ||
         tileShape(m.shape(op.result()), tile).elements() ==
             tileShape(m.shape(op.operand(0)), operand).elements();
}

std::optional<TileOps> findTileOps(const ir::Module& m, std::span<const OpId> ops,
                                   const UseCounts& uses) {
  for (OpId id : ops)
    if (isLargeProduct(m, m.op(id)))
      if (auto found = Tilings(m, uses, ops).best(id)) return found;
  return {};
}

}  // namespace tercel::plan
