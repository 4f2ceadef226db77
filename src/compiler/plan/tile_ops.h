// Ops around a product whose arrays are so large that they should be made and used tile by tile.
#pragma once
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/cut.h"
#include "compiler/plan/use_counts.h"

namespace tercel::plan {

// A tile of a value: its cut along each of the directions that the tiling goes, where `unit` is how
// many lines a tile has.
using Tile = std::vector<ir::Cut>;

struct TileOp {
  ir::OpId op;
  Tile tile;  // of its result
  std::vector<Tile> operands;
};

struct TileOps {
  std::vector<int64_t> counts;  // tiles along each direction
  std::vector<TileOp> ops;
  std::unordered_map<uint32_t, size_t> made_by;  // of ops, by result
  std::vector<ir::Value> wanted;  // what others read of them
  std::vector<ir::OpId> before, after;  // the other ops

  const TileOp* makerOf(ir::Value v) const;
  int64_t turns() const;
};

// Of which a tiling may be found.
bool isLargeProduct(const ir::Module& module, const ir::Op& op);

Shape tileShape(const Shape& whole, const Tile& tile);
// Whether a tile of the op's result has the elements of its operand's, if it is a reshape.
bool keepsElements(const ir::Module& module, const ir::Op& op, const Tile& tile,
                   const Tile& operand);

// The tiling of the first product for which it pays: what lies between the ops stays in a core's
// cache. `uses` are those of the region that the ops are from.
std::optional<TileOps> findTileOps(const ir::Module& module, std::span<const ir::OpId> ops,
                                   const UseCounts& uses);

}  // namespace tercel::plan
