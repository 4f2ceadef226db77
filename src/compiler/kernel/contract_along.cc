// Tiles whose vectors lie along the sum: for products with few rows or columns, where both sides
// are read as they lie and no vector would be filled otherwise. The lanes are added up at the end.
#include <algorithm>

#include "compiler/kernel/contract_nest.h"
#include "compiler/kernel/lane_fold.h"
#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {
namespace {

V added(Builder& b, V x, V y) {
  return isFloat(b.type(x).scalar) ? b.fadd(x, y) : b.iadd(x, y);
}

// Lane i of the result is the sum of all lanes of lines[i]; as many lines as a power of two, at
// most one for each lane. Vectors hold segments of partial sums: each step joins two vectors, or a
// vector with itself, and halves the segments.
V sumOfLanes(Builder& b, std::vector<V> lines) {
  int segments = 1, width = b.type(lines[0]).lanes;
  for (; width > 1; width /= 2) {
    bool join = lines.size() > 1;
    auto low = halves(segments * width, width, false, join);
    auto high = halves(segments * width, width, true, join);
    std::vector<V> next;
    for (size_t i = 0; i < lines.size(); i += join ? 2 : 1) {
      V x = lines[i], y = lines[join ? i + 1 : i];
      next.push_back(added(b, b.shuffle(x, y, low), b.shuffle(x, y, high)));
    }
    if (join) segments *= 2;
    lines = std::move(next);
  }
  return lines[0];
}

}  // namespace

// A k of [panel][column][k] of the n side, where it does not lie so.
void ContractNest::packAlong(Emitter& e, const Groups& groups, V column, V to) {
  for (int64_t j = 0; j < std::min(tiling_.panel(), columns_.extent); ++j)
    e.scope([&] {
      V x = operandAt(e, columns_.operand, with(groups, columns_.group, columnAt(column, j)));
      b_.store(n_scratch_, to, x, j * blockSize());
    });
}

// The same where lines of the n side are whole panels: squares of these are turned, the last one of
// a line moved back.
void ContractNest::packTurnedAlong(const Groups& groups, V column, V base) {
  int64_t side = tiling_.square, inner = extent(innerSum());
  auto [begin, end] = rangeOf(innerSum());
  Emitter e = emitter(tiling_.square);
  overGroups(e, outerSums(), 0, groups, Index(0), [&](const Groups& at, const Index& k0) {
    V line = b_.iadd(base, space_.emitScalar(space_.scale(k0, inner)));
    b_.forLoop(begin, end, side, [&](V i) {
      V k = inner % side ? b_.binary(Opcode::smin, i, b_.index(inner - side)) : i;
      Index first = space_.loop(k, inner - side + 1);
      Groups here = with(at, columns_.group, columnIndex(column, 0));
      e.scope([&] {
        std::vector<V> lines;
        for (int64_t r = 0; r < side; ++r) {
          here = with(here, innerSum(), space_.add(first, Index(r)));
          lines.push_back(b_.widen(operandAt(e, columns_.operand, here), tiling_.square));
        }
        transposeTile(b_, lines);
        V to = b_.iadd(line, b_.isub(k, begin));
        for (int64_t c = 0; c < side; ++c)
          b_.store(n_scratch_, to, lines[static_cast<size_t>(c)], c * blockSize());
      });
    });
  });
}

// Column j of a panel; where there are fewer, the last one again, which is not stored.
Index ContractNest::columnAt(V column, int64_t j) {
  if (columns_.extent < tiling_.panel()) return Index(std::min(j, columns_.extent - 1));
  return space_.add(space_.loop(column, columns_.extent - tiling_.panel() + 1), Index(j));
}

// A vector for each row of the tile, from one for each row and column.
ContractNest::Sums ContractNest::addedUp(const Sums& sums) {
  V all = sumOfLanes(b_, {sums.begin(), sums.end()});
  int64_t columns = tiling_.panel();
  Sums rows;
  for (int64_t i = 0; i < tiling_.rows; ++i) {
    std::vector<int16_t> list;
    for (int64_t j = 0; j < columns; ++j) list.push_back(static_cast<int16_t>(i * columns + j));
    rows.push_back(columns > 1 ? b_.shuffle(all, all, list) : b_.extract(all, static_cast<int>(i)));
  }
  return rows;
}

// guard: the lanes that the innermost dimension of the sum has there. The others are made zero: they
// may hold what scratch memory was left with.
ContractNest::Sums ContractNest::stepAlong(Emitter& e, const Tile& tile, const Groups& groups,
                                           const Index& k, const Guard& guard, const Sums& sums) {
  auto there = [&](V x) {
    return guard.lanes.valid() ? b_.select(guard.lanes, x, b_.constant(b_.type(x), 0)) : x;
  };
  auto packed = [&](BufferId scratch, V slot, int64_t offset) {
    V at = b_.iadd(slot, space_.emitScalar(k));
    return guard.lanes.valid() ? b_.loadMasked(scratch, at, guard.lanes, offset)
                               : b_.load(scratch, at, e.lanes(), offset);
  };
  return e.guarded(guard, [&] {
    V slot = b_.imul(tile.n_slot, b_.index(tiling_.panel() * blockSize()));
    std::vector<V> columns;
    for (int64_t j = 0; j < tiling_.panel(); ++j) {
      int64_t line = std::min(j, columns_.extent - 1) * blockSize();
      columns.push_back(
          there(tiling_.pack_n ? packed(n_scratch_, slot, line)
                               : operandAt(e, columns_.operand,
                                           with(groups, columns_.group, columnAt(tile.column, j)))));
    }
    Sums next;
    for (int64_t i = 0; i < tiling_.rows; ++i) {
      Index row = space_.add(rowIndex(tile.row), Index(i));
      V a = there(tiling_.pack_m ? packed(m_scratch_, b_.index(0), i * m_pitch_)
                                 : operandAt(e, rows_.operand, with(groups, rows_.group, row)));
      for (V c : columns) next.push_back(multiplyAdd(e, a, c, sums[next.size()]));
    }
    return next;
  });
}

}  // namespace tercel::kernel
