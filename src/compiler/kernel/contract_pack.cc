// Copies of the operands in the order that the tiles read them.
#include <algorithm>

#include "compiler/kernel/contract_nest.h"
#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {

ContractNest::Groups ContractNest::with(Groups groups, size_t group, const Index& index) const {
  if (group != kNone) groups[group] = index;
  return groups;
}

void ContractNest::overGroups(Emitter& e, const std::vector<size_t>& list, size_t at, Groups groups,
                              Index linear, const GroupBody& body) {
  if (at == list.size()) return body(groups, linear);
  int64_t count = extent(list[at]);
  b_.forLoop(b_.index(0), b_.index(count), 1, [&](V i) {
    e.scope([&] {
      Index here = space_.loop(i, count);
      overGroups(e, list, at + 1, with(groups, list[at], here),
                 space_.add(space_.scale(linear, count), here), body);
    });
  });
}

// [panel][k][panel's columns] of the n side, lanes past the end as zeros.
void ContractNest::packN(const Groups& groups, V first, V last) {
  if (tiling_.along_k) return packAlong(groups, first, last);
  int64_t size = k_ * tiling_.panel();
  auto each = [&](const std::function<void(V, V)>& body) {
    b_.forLoop(first, last, 1, [&](V panel) {
      body(startOf(panel, tiling_.panel(), n_), b_.imul(b_.isub(panel, first), b_.index(size)));
    });
  };
  if (tiling_.square) return each([&](V column, V base) { packTurned(groups, column, base); });
  Emitter e = emitter(tiling_.lanes);
  overGroups(e, k_groups_, 0, groups, Index(0), [&](const Groups& at, const Index& k) {
    V line = space_.emitScalar(space_.scale(k, tiling_.panel()));
    each([&](V column, V base) {
      for (int v = 0; v < tiling_.vectors; ++v)
        e.guarded(columnGuard(), [&] {
          V x = operandAt(e, n_operand_, with(at, n_group_, columnIndex(column, v)));
          b_.store(n_scratch_, b_.iadd(base, line), b_.widen(x, tiling_.lanes), v * tiling_.lanes);
        });
    });
  });
}

// The n side lies along k: squares of it are turned in registers, the last one of a line moved back.
void ContractNest::packTurned(const Groups& groups, V column, V base) {
  int64_t side = tiling_.square, inner = extent(innerSum());
  Emitter e = emitter(tiling_.square);
  overGroups(e, outerSums(), 0, groups, Index(0), [&](const Groups& at, const Index& k0) {
    V line = space_.emitScalar(space_.scale(k0, inner));
    b_.forLoop(b_.index(0), b_.index(tiling_.panel()), side, [&](V in_panel) {
      V first = b_.iadd(column, inMemory(in_panel));
      b_.forLoop(b_.index(0), b_.index(inner), side, [&](V i) {
        V k = inner % side ? b_.binary(Opcode::smin, i, b_.index(inner - side)) : i;
        V to = b_.iadd(b_.iadd(base, in_panel),
                       b_.imul(b_.iadd(line, k), b_.index(tiling_.panel())));
        e.scope([&] { turnSquare(e, at, first, k, to); });
      });
    });
  });
}

// Where a column of the panel is in memory, as columnOffset says.
V ContractNest::inMemory(V in_panel) {
  if (n_ >= tiling_.panel() || n_ < tiling_.lanes) return in_panel;
  V vector = b_.binary(Opcode::and_, in_panel, b_.index(-tiling_.lanes));
  V moved = b_.binary(Opcode::smin, vector, b_.index(n_ - tiling_.lanes));
  return b_.iadd(moved, b_.isub(in_panel, vector));
}

void ContractNest::turnSquare(Emitter& e, const Groups& groups, V column, V k, V to) {
  int64_t side = tiling_.square;
  Index along = space_.loop(k, extent(innerSum()), true);
  std::vector<V> lines;
  for (int64_t c = 0; c < side; ++c) {
    V at = b_.iadd(column, b_.index(c));
    if (n_ < tiling_.lanes) at = b_.binary(Opcode::smin, at, b_.index(n_ - 1));  // never stored
    Groups here = with(with(groups, n_group_, space_.loop(at, n_)), innerSum(), along);
    lines.push_back(b_.widen(operandAt(e, n_operand_, here), tiling_.square));
  }
  transposeTile(b_, lines);
  for (int64_t r = 0; r < side; ++r)
    b_.store(n_scratch_, to, lines[static_cast<size_t>(r)], r * tiling_.panel());
}

// [row][m_pitch_] of the m side: by vectors where it lies along k, else element by element.
void ContractNest::packM(const Groups& groups, V row) {
  int64_t inner = extent(innerSum());
  int lanes = 1;
  if (std::abs(strideOf(1 - n_operand_, innerSum())) == 1)
    lanes = sumLanes(low_.machine, byteSize(sum_));
  while (lanes > inner) lanes /= 2;
  Emitter e = emitter(lanes);
  overGroups(e, outerSums(), 0, groups, Index(0), [&](const Groups& at, const Index& k0) {
    V line = space_.emitScalar(space_.scale(k0, inner));
    b_.forLoop(b_.index(0), b_.index(tiling_.rows), 1, [&](V i) {
      Groups in_row = with(at, m_group_, space_.add(rowIndex(row), space_.loop(i, tiling_.rows)));
      V to = b_.iadd(line, b_.imul(i, b_.index(m_pitch_)));
      b_.forLoop(b_.index(0), b_.index(inner), lanes, [&](V at_k) {
        V k = inner % lanes ? b_.binary(Opcode::smin, at_k, b_.index(inner - lanes)) : at_k;
        e.scope([&] {
          V x = operandAt(e, 1 - n_operand_, with(in_row, innerSum(), space_.loop(k, inner, lanes > 1)));
          b_.store(m_scratch_, b_.iadd(to, k), b_.widen(x, lanes));
        });
      });
    });
  });
}

// [tile][k][row]: the m side lies along the rows. Several tiles at once, because they are neighbours
// in memory.
void ContractNest::packAcross(const Groups& groups, V row) {
  int64_t together = tiling_.together * tiling_.rows;
  int lanes = static_cast<int>(tiling_.rows);
  Emitter e = emitter(lanes);
  overGroups(e, k_groups_, 0, groups, Index(0), [&](const Groups& at, const Index& k) {
    V line = space_.emitScalar(space_.scale(k, tiling_.rows));
    Index first = space_.loop(row, m_extent_ - together + lanes, true);
    for (int64_t tile = 0; tile < tiling_.together; ++tile) {
      Groups here = with(at, m_group_, space_.add(first, Index(tile * lanes)));
      V x = operandAt(e, 1 - n_operand_, here);
      b_.store(m_scratch_, line, b_.widen(x, lanes), tile * m_pitch_);
    }
  });
}

}  // namespace tercel::kernel
