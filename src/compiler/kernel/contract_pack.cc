// Copies of the operands in the order that the tiles read them.
#include <algorithm>

#include "compiler/kernel/contract_nest.h"
#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {

ContractNest::Groups ContractNest::with(Groups groups, size_t group, const Index& index) const {
  if (group != kNone) groups[group] = index;
  return groups;
}

// Loops over the groups of the list; body gets them and their linear index.
void ContractNest::overGroups(Emitter& e, const std::vector<size_t>& list, size_t at,
                              Groups groups, Index linear, const GroupBody& body) {
  if (at == list.size()) return body(groups, linear);
  auto each = [&](V i, const Index& step) {
    e.scope([&] {
      Index k = space_.add(space_.scale(linear, steps(list[at])), inBlock(list[at], i));
      overGroups(e, list, at + 1, with(groups, list[at], step), k, body);
    });
  };
  int64_t whole = wholeSteps(list[at]);
  overWhole(list[at], 1, [&](V i) { each(i, space_.loop(i, whole)); });
  overCut(list[at], [&](V i) { each(i, Index(whole)); });
}

// [panel][k][panel's columns] of the n side, lanes past the end as zeros.
void ContractNest::packN(const Groups& groups, V first, V last) {
  auto each = [&](const Groups& at, const std::function<void(const Groups&, V, V)>& body) {
    b_.forLoop(first, last, 1, [&](V panel) {
      auto [here, in_line] = onLine(columns_, at, panel, tiling_.line_panels);
      V base = b_.imul(b_.isub(panel, first), b_.index(panelSize()));
      body(here, startOf(in_line, tiling_.panel(), columns_.extent), base);
    });
  };
  Emitter e = emitter(tiling_.along_k ? 1 : tiling_.lanes);
  auto line = [&](const Groups& at, const Index& k, V column, V base) {
    if (tiling_.along_k) return packAlong(e, at, column, b_.iadd(base, space_.emitScalar(k)));
    packLine(e, at, column, b_.iadd(base, space_.emitScalar(space_.scale(k, tiling_.panel()))));
  };
  if (tiling_.square)
    return each(groups, [&](const Groups& here, V column, V base) {
      tiling_.along_k ? packTurnedAlong(here, column, base) : packTurned(here, column, base);
    });
  // Along the lines of memory; but where panels begin is worked out once if that takes divisions.
  if (columns_.lines() > 1)
    return each(groups, [&](const Groups& here, V column, V base) {
      overGroups(e, k_groups_, 0, here, Index(0),
                 [&](const Groups& at, const Index& k) { line(at, k, column, base); });
    });
  overGroups(e, k_groups_, 0, groups, Index(0), [&](const Groups& at, const Index& k) {
    each(at, [&](const Groups& here, V column, V base) { line(here, k, column, base); });
  });
}

void ContractNest::packLine(Emitter& e, const Groups& groups, V column, V to) {
  for (int v = 0; v < tiling_.vectors; ++v)
    e.guarded(columnGuard(), [&] {
      V x = wordAt(e, columns_.operand, with(groups, columns_.group, columnIndex(column, v)));
      b_.store(n_scratch_, to, b_.widen(x, tiling_.lanes), v * tiling_.lanes);
    });
}

// The n side lies along k: squares of it are turned in registers, the last one of a line moved
// back.
void ContractNest::packTurned(const Groups& groups, V column, V base) {
  int64_t side = tiling_.square, whole = wholeSteps(innerSum());
  V begin = rangeOf(innerSum()).first;
  Emitter e = emitter(tiling_.lanes);
  overGroups(e, outerSums(), 0, groups, Index(0), [&](const Groups& at, const Index& k0) {
    V line = space_.emitScalar(space_.scale(k0, steps(innerSum())));
    auto inScratch = [&](V k) {
      return b_.iadd(base, b_.imul(b_.iadd(line, b_.isub(k, begin)), b_.index(tiling_.panel())));
    };
    b_.forLoop(b_.index(0), b_.index(tiling_.panel()), side, [&](V in_panel) {
      V first = b_.iadd(column, inMemory(in_panel));
      overWhole(innerSum(), side, [&](V i) {
        V k = whole % side ? b_.binary(Opcode::smin, i, b_.index(whole - side)) : i;
        turnSquare(at, first, k, b_.iadd(inScratch(k), in_panel));
      });
    });
    overCut(innerSum(), [&](V k) {
      e.scope([&] { packLine(e, with(at, innerSum(), Index(whole)), column, inScratch(k)); });
    });
  });
}

// Where a column of the panel is in memory, as columnOffset says.
V ContractNest::inMemory(V in_panel) {
  if (columns_.extent >= tiling_.panel() || columns_.extent < tiling_.lanes) return in_panel;
  V vector = b_.binary(Opcode::and_, in_panel, b_.index(-tiling_.lanes));
  V moved = b_.binary(Opcode::smin, vector, b_.index(columns_.extent - tiling_.lanes));
  return b_.iadd(moved, b_.isub(in_panel, vector));
}

void ContractNest::turnSquare(const Groups& groups, V column, V k, V to) {
  int64_t side = tiling_.square;
  std::vector<V> lines;
  for (int64_t c = 0; c < side; ++c) {
    V at = b_.iadd(column, b_.index(c));
    if (columns_.extent < tiling_.lanes)  // those past the end are never stored
      at = b_.binary(Opcode::smin, at, b_.index(columns_.extent - 1));
    Groups here = with(groups, columns_.group, space_.loop(at, columns_.extent));
    lines.push_back(wordsAlong(columns_.operand, here, k, tiling_.square));
  }
  transposeTile(b_, lines);
  for (int64_t r = 0; r < side; ++r)
    b_.store(n_scratch_, to, lines[static_cast<size_t>(r)], r * tiling_.panel());
}

void ContractNest::packRows(const Groups& groups, V row) {
  bool lies_across = rows_.unit == 1 && strideOf(rows_.operand, rows_.group) == 1 &&
                     strideOf(rows_.operand, innerSum()) != 1;
  if (tiling_.in_tiles && lies_across) return packTurnedM(groups, row);
  tiling_.parts > 1 ? packWordsM(groups, row) : packM(groups, row);
}

// [row][m_pitch_] of the m side: by vectors where it lies along k, else element by element. A
// vector that is longer than its line is stored whole, the next line over it.
void ContractNest::packM(const Groups& groups, V row) {
  int64_t inner = extent(innerSum());
  auto [begin, end] = rangeOf(innerSum());
  int lanes = 1;
  if (std::abs(strideOf(rows_.operand, innerSum())) == 1)
    lanes = sumLanes(low_.machine, byteSize(sum_));
  while (lanes > 1 && lanes / 2 >= inner) lanes /= 2;
  Guard guard;
  if (inner < lanes) guard = firstLanes(b_, lanes, b_.index(inner));
  Emitter e = emitter(lanes);
  // Rows innermost and written out: where a k begins is worked out once for all.
  overGroups(e, outerSums(), 0, groups, Index(0), [&](const Groups& at, const Index& k0) {
    V line = space_.emitScalar(space_.scale(k0, inner));
    auto piece = [&](V i) {
      V k = i;
      if (inner > lanes && inner % lanes) k = b_.binary(Opcode::smin, i, b_.index(inner - lanes));
      Groups along = with(at, innerSum(), space_.loop(k, inner, lanes > 1));
      for (int64_t r = 0; r < tiling_.rows; ++r)
        e.guarded(guard, [&] {
          Index here = space_.add(rowIndex(row), Index(r));
          V x = operandAt(e, rows_.operand, with(along, rows_.group, here));
          b_.store(m_scratch_, b_.iadd(line, b_.isub(k, begin)), b_.widen(x, lanes), r * m_pitch_);
        });
    };
    if (inner > 2 * lanes) return b_.forLoop(begin, end, lanes, piece);
    for (int64_t i = 0; i < inner; i += lanes) piece(b_.index(i));
  });
}

// [tile][k][row]: the m side lies along the rows. Several tiles at once, because they are
// neighbours in memory.
void ContractNest::packAcross(const Groups& groups, V row) {
  int64_t together = tiling_.together * tiling_.rows;
  int lanes = static_cast<int>(tiling_.rows);
  Emitter e = emitter(lanes);
  overGroups(e, k_groups_, 0, groups, Index(0), [&](const Groups& at, const Index& k) {
    V line = space_.emitScalar(space_.scale(k, tiling_.rows));
    Index first = space_.loop(row, rows_.extent - together + lanes, true);
    for (int64_t tile = 0; tile < tiling_.together; ++tile) {
      Groups here = with(at, rows_.group, space_.add(first, Index(tile * lanes)));
      V x = wordAt(e, rows_.operand, here);
      b_.store(m_scratch_, line, b_.widen(x, lanes), tile * m_pitch_);
    }
  });
}

}  // namespace tercel::kernel
