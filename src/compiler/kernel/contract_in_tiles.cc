// Sums of products of bf16 or bytes in the machine's tiles: 16 x 16 sums each, to which one
// instruction adds the products of 16 words of each row of the m side and each column of the n side.
#include <algorithm>

#include "compiler/kernel/contract_nest.h"
#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {

// Whether its bf16 may be multiplied by instructions that take subnormal operands and sums as
// zeros: not where the program asks for more than the machine does fastest.
bool ContractNest::takesSubnormalsAsZeros() const {
  const DType out = m_.shape(op_.result()).dtype;
  return !op_.has(ir::AttrKey::precision) && operandType(rows_) == DType::bf16 &&
         operandType(columns_) == DType::bf16 && (out == DType::bf16 || out == DType::f32);
}

int64_t ContractNest::possibleTileParts() const {
  DType out = m_.shape(op_.result()).dtype, left = operandType(rows_), right = operandType(columns_);
  if (!low_.machine.has_tiles) return 1;
  auto isByte = [](DType type) { return isInteger(type) && byteSize(type) == 1; };
  if (isInteger(out) && byteSize(out) <= 4) return isByte(left) && isByte(right) ? 4 : 1;
  return takesSubnormalsAsZeros() ? 2 : 1;
}

Opcode ContractNest::tileDot() const {
  if (isFloat(sum_)) return Opcode::tile_dot_bf16;
  bool m = isSigned(operandType(rows_)), n = isSigned(operandType(columns_));
  return m && n ? Opcode::tile_dot_s8s8 : m ? Opcode::tile_dot_s8u8
                                        : n ? Opcode::tile_dot_u8s8 : Opcode::tile_dot_u8u8;
}

// Tiles read whole steps: the words behind the block's last one are zeros.
void ContractNest::clearRoom(V first, V last) {
  bool is_full = blockSize() % kTileRows == 0 && (tiling_.block == 0 || k_ % kTileRows == 0);
  if (is_full) return;
  V used = stepsInBlock();
  V room = b_.binary(Opcode::and_, b_.iadd(used, b_.index(kTileRows - 1)), b_.index(-kTileRows));
  V zero = b_.constant({Scalar::i32, kTileRows}, 0);
  b_.forLoop(first, last, 1, [&](V panel) {
    V base = b_.imul(b_.isub(panel, first), b_.index(panelSize()));
    b_.forLoop(used, room, 1, [&](V k) {
      V line = b_.iadd(base, b_.imul(k, b_.index(tiling_.panel())));
      for (int v = 0; v < tiling_.vectors; ++v) b_.store(n_scratch_, line, zero, v * tiling_.lanes);
    });
  });
  for (int64_t r = 0; r < tiling_.rows; ++r) b_.store(m_scratch_, used, zero, r * m_pitch_);
}

// As packWordsM, where the m side lies along its rows: squares of it are turned in registers.
void ContractNest::packTurnedM(const Groups& groups, V row) {
  int64_t whole = wholeSteps(innerSum());
  V begin = rangeOf(innerSum()).first;
  Emitter e = emitter(kTileRows);
  overGroups(e, outerSums(), 0, groups, Index(0), [&](const Groups& at, const Index& k0) {
    V line = b_.isub(space_.emitScalar(space_.scale(k0, steps(innerSum()))), begin);
    auto words = [&](const Index& step, int64_t tile) {
      Index first = space_.loop(row, rows_.extent - tiling_.rows + kTileRows, true);
      Groups here = with(at, rows_.group, space_.add(first, Index(tile * kTileRows)));
      return b_.widen(wordAt(e, rows_.operand, with(here, innerSum(), step)), kTileRows);
    };
    auto square = [&](int64_t tile, const std::function<V(int64_t)>& lineAt, V to) {
      std::vector<V> lines;
      for (int64_t i = 0; i < kTileRows; ++i) lines.push_back(lineAt(i));
      transposeTile(b_, lines);
      for (int64_t r = 0; r < kTileRows; ++r)
        b_.store(m_scratch_, to, lines[static_cast<size_t>(r)], (tile * kTileRows + r) * m_pitch_);
    };
    auto eachTile = [&](const std::function<void(int64_t)>& body) {
      for (int64_t tile = 0; tile * kTileRows < tiling_.rows; ++tile)
        e.scope([&] { body(tile); });
    };
    overWhole(innerSum(), kTileRows, [&](V i) {
      V k = whole % kTileRows ? b_.binary(Opcode::smin, i, b_.index(whole - kTileRows)) : i;
      eachTile([&](int64_t tile) {
        square(tile, [&](int64_t j) {
          return words(space_.loop(b_.iadd(k, b_.index(j)), whole), tile);
        }, b_.iadd(line, k));
      });
    });
    // Behind the last word there is room for a line's length.
    V zero = b_.constant({Scalar::i32, kTileRows}, 0);
    overCut(innerSum(), [&](V k) {
      eachTile([&](int64_t tile) {
        V last = words(Index(whole), tile);
        square(tile, [&](int64_t j) { return j == 0 ? last : zero; }, b_.iadd(line, k));
      });
    });
  });
}

// Adds the block's products to the tile's sums in memory; to none where they are the whole.
void ContractNest::addInTiles(const Tile& tile, Part part) {
  constexpr int16_t kFirstM = 4, kFirstN = 6;
  auto down = static_cast<int16_t>(tiling_.rows / kTileRows);
  auto across = static_cast<int16_t>(tiling_.vectors);
  int64_t panel = tiling_.panel();
  auto eachSum = [&](const std::function<void(int16_t, int64_t)>& body) {
    for (int16_t i = 0; i < down; ++i)
      for (int16_t j = 0; j < across; ++j)
        body(static_cast<int16_t>(i * across + j), (i * panel + j) * kTileRows);
  };
  eachSum([&](int16_t sum, int64_t offset) {
    if (part == Part::whole) return b_.tiles(Opcode::tile_zero, {sum});
    b_.tileLoad(sum, tile_scratch_, tile.sums, panel, offset);
  });
  V base = b_.imul(tile.n_slot, b_.index(panelSize()));
  b_.forLoop(b_.index(0), stepsInBlock(), kTileRows, [&](V k) {
    V line = b_.iadd(base, b_.imul(k, b_.index(panel)));
    auto m = [&](int16_t i) { return static_cast<int16_t>(kFirstM + i); };
    auto n = [&](int16_t j) { return static_cast<int16_t>(kFirstN + j); };
    for (int16_t i = 0; i < down; ++i)
      b_.tileLoad(m(i), m_scratch_, k, m_pitch_, i * kTileRows * m_pitch_);
    for (int16_t j = 0; j < across; ++j)
      b_.tileLoad(n(j), n_scratch_, line, panel, j * kTileRows);
    for (int16_t i = 0; i < down; ++i)
      for (int16_t j = 0; j < across; ++j)
        b_.tiles(tileDot(), {static_cast<int16_t>(i * across + j), m(i), n(j)});
  });
  eachSum([&](int16_t sum, int64_t offset) {
    b_.tileStore(sum, tile_scratch_, tile.sums, panel, offset);
  });
}

}  // namespace tercel::kernel
