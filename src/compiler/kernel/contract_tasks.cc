// The tasks of a product: their tiles and panels, and what is packed for them.
#include "compiler/kernel/contract_nest.h"

namespace tercel::kernel {

// Where the tile or panel of this number starts: a line's last one is moved back, so that it is
// whole.
V ContractNest::startOf(V index, int64_t size, int64_t whole) {
  if (whole <= size) return b_.index(0);
  V start = b_.imul(index, b_.index(size));
  return whole % size == 0 ? start : b_.binary(Opcode::smin, start, b_.index(whole - size));
}

// The groups of the list at a linear index.
ContractNest::Groups ContractNest::with(Groups groups, const std::vector<size_t>& list,
                                        const Dims& extents, const Index& linear) {
  Indices each = space_.delinear(linear, extents);
  for (size_t i = 0; i < list.size(); ++i)
    groups[list[i]] =
        each[i].isConstant() ? each[i] : space_.loop(space_.emitScalar(each[i]), extents[i]);
  return groups;
}

// The line and the place in it of a tile or panel.
std::pair<ContractNest::Groups, V> ContractNest::onLine(const Axis& axis, const Groups& groups,
                                                        V number, int64_t per_line) {
  if (axis.lines() == 1) return {groups, number};
  Index at = space_.loop(number, axis.lines() * per_line);
  int64_t inner = axis.lines_inner ? axis.lines() : per_line;
  Index line = space_.quotient(at, inner), place = space_.remainder(at, inner);
  if (axis.lines_inner) std::swap(line, place);
  return {with(groups, axis.outer, axis.outer_extents, line), space_.emitScalar(place)};
}

// Whether the task before, if this thread ran it, had other panels.
V ContractNest::isFirstWith(const Index& rows, V task) {
  V no_rows = b_.compare(Opcode::icmp, Predicate::eq, space_.emitScalar(rows), b_.index(0));
  V none_before = b_.compare(Opcode::icmp, Predicate::eq, task, b_.taskBegin());
  return b_.binary(Opcode::or_, no_rows, none_before);
}

void ContractNest::emitTask(V task) {
  const ContractTiling& t = tiling_;
  int64_t batches = elementCount(task_extents_);
  Index rest = space_.loop(task, batches * t.row_tasks * t.column_tasks);
  Index rows = space_.remainder(rest, t.row_tasks);
  rest = space_.quotient(rest, t.row_tasks);
  Index columns = space_.remainder(rest, t.column_tasks);
  Groups groups(plan_.groups.size());
  groups = with(groups, task_groups_, task_extents_, space_.quotient(rest, t.column_tasks));
  auto bounds = [&](const Index& part, int64_t parts, int64_t size, int64_t whole) {
    if (parts == 1) return std::pair(b_.index(0), b_.index(whole));
    V first = b_.imul(space_.emitScalar(part), b_.index(size));
    V end = b_.binary(Opcode::smin, b_.iadd(first, b_.index(size)), b_.index(whole));
    return std::pair(first, end);
  };
  auto [first, last] = bounds(columns, t.column_tasks, t.panels, columns_.lines() * t.line_panels);
  auto [tile_first, tile_last] =
      bounds(rows, t.row_tasks, t.tiles, rows_.lines() * t.line_tiles);
  Share share{tile_first, tile_last, first, last, {}};
  if (t.row_tasks > 1 && t.block == 0) share.packs_n = isFirstWith(rows, task);
  if (looksForSubnormals()) b_.forgetSubnormals();
  if (t.in_tiles) b_.tiles(Opcode::tiles_begin);
  t.block > 0 ? emitBlocks(groups, share) : emitShare(groups, share, Part::whole);
  if (t.in_tiles) b_.tiles(Opcode::tiles_end);
}

void ContractNest::emitShare(const Groups& groups, const Share& share, Part part) {
  const ContractTiling& t = tiling_;
  auto packs = [&] {
    if (t.in_tiles) clearRoom(share.panel, share.panel_end);
    if (t.pack_n) packN(groups, share.panel, share.panel_end);
    if (isBiased()) addUpBias(share.panel, share.panel_end);
  };
  if (part != Part::sums) share.packs_n.valid() ? b_.ifThen(share.packs_n, packs) : packs();
  if (skipsZeros() && part != Part::sums)
    none_skipped_ = anyNotFinite(share.panel, share.panel_end);
  b_.forLoop(share.tile, share.tile_end, t.together,
             [&](V tile) { emitTiles(groups, tile, share, part); });
}

void ContractNest::emitBlocks(const Groups& groups, const Share& share) {
  const ContractTiling& t = tiling_;
  V zero = b_.constant({sum_, static_cast<uint16_t>(t.lanes)}, 0);
  b_.forLoop(b_.index(0), b_.index(t.tiles * t.panels * t.rows * t.panel()), t.lanes,
             [&](V i) { b_.store(tile_scratch_, i, zero); });
  V whole = b_.index(steps(k_groups_.front()));
  b_.forLoop(b_.index(0), whole, t.block, [&](V first) {
    block_first_ = first;
    block_last_ = b_.binary(Opcode::smin, b_.iadd(first, b_.index(t.block)), whole);
    emitShare(groups, share, Part::block);
  });
  emitShare(groups, share, Part::sums);
}

// The tiles that are packed together from a number of a line on, with each of the task's panels.
// Those start at one row, which for the last ones is moved back.
void ContractNest::emitTiles(const Groups& all, V number, const Share& share, Part part) {
  auto [groups, tile] = onLine(rows_, all, number, tiling_.line_tiles);
  V tile_sums = b_.index(tiling_.block > 0 ? tiling_.panels * tiling_.rows * tiling_.panel() : 0);
  V sums = b_.imul(b_.isub(number, share.tile), tile_sums);
  bool packs = part != Part::sums;
  if (!tiling_.across) {
    V row = startOf(tile, tiling_.rows / rows_.unit, rows_.extent / rows_.unit);
    if (tiling_.pack_m && packs) packRows(groups, row);
    return emitPanels(groups, row, b_.index(0), sums, share, part);
  }
  V rows = b_.index(tiling_.rows);
  V wanted = b_.imul(tile, rows);
  V row = b_.binary(Opcode::smin, wanted,
                    b_.index(rows_.extent - tiling_.together * tiling_.rows));
  if (packs) packAcross(groups, row);
  V begin = b_.binary(Opcode::udiv, b_.isub(wanted, row), rows);
  b_.forLoop(begin, b_.index(tiling_.together), 1, [&](V each) {
    V slot = b_.imul(each, b_.index(m_pitch_));
    V kept = b_.iadd(sums, b_.imul(b_.isub(each, begin), tile_sums));
    emitPanels(groups, b_.iadd(row, b_.imul(each, rows)), slot, kept, share, part);
  });
}

// The tile at a row with each of the task's panels.
void ContractNest::emitPanels(const Groups& groups, V row, V m_slot, V sums, const Share& share,
                              Part part) {
  auto emit = [&](V panel, int first) {
    auto [here, in_line] = onLine(columns_, groups, panel, tiling_.line_panels);
    V column = startOf(in_line, tiling_.panel(), columns_.extent);
    V slot = b_.isub(panel, share.panel);
    V panel_sums = b_.index(tiling_.block > 0 ? tiling_.rows * tiling_.panel() : 0);
    V kept = b_.iadd(sums, b_.imul(slot, panel_sums));
    emitTile({here, row, m_slot, column, slot, kept, first}, part);
  };
  auto emitWhole = [&](V panel) { emit(panel, 0); };
  if (tiling_.last_vectors == tiling_.vectors)
    return b_.forLoop(share.panel, share.panel_end, 1, emitWhole);
  V last = b_.index(tiling_.line_panels - 1);
  b_.forLoop(share.panel, b_.binary(Opcode::smin, share.panel_end, last), 1, emitWhole);
  b_.ifThen(b_.compare(Opcode::icmp, Predicate::sgt, share.panel_end, last),
            [&] { emit(last, tiling_.vectors - tiling_.last_vectors); });
}

}  // namespace tercel::kernel
