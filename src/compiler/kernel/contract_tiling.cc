#include "compiler/kernel/contract_tiling.h"

#include <algorithm>
#include <cmath>

#include "core/integers.h"

namespace tercel::kernel {
namespace {

constexpr int64_t kMostRows = 14;  // more than the L1 cache has ways costs more than it saves
constexpr int64_t kMostTileVectors = 8;
constexpr int64_t kAcrossRows = 8;  // a whole vector, that needs no mask

constexpr int64_t kWorthPacking = 3;  // tiles that read a panel
constexpr double kPackCycles = 0.25;  // of an element, with its cache misses

// Rows that lie apart by multiples of what one way of the L1 cache holds share its ways.
constexpr int64_t kWayBytes = 4096, kMostCollidingRows = 7;
bool collides(const ContractSide& side) {
  return side.sum_stride == 1 && side.own_stride * side.bytes % kWayBytes == 0;
}

bool isFar(const ContractSide& side) { return side.widest_sum_stride * side.bytes >= 512; }

// So few rows that memory decides: the n side is read once, in short pieces of several lines that lie
// far apart, which the machine then fetches ahead.
constexpr int64_t kStreamRows = 4, kStreamVectors = 4, kStreamSteps = 8;
bool streams(const ContractSizes& s) {
  constexpr int64_t kLarge = 1 << 20, kVeryFewRows = 2, kMostTogether = 8;
  const int64_t together = s.rows() <= kVeryFewRows ? std::min(s.batches, kMostTogether) : 1;
  return s.rows() <= kStreamRows && s.n_side.own_stride == 1 && isFar(s.n_side) &&
         together * s.k * s.n * s.n_side.bytes >= kLarge;
}

// Cycles of a tile for one step of the sum: two multiply-adds or hardly more loads than one a
// cycle, less where a long panel comes from the L2 cache, part of whose time nothing hides, and no
// fewer than it takes to add to one sum again.
double tileCost(const ContractSizes& s, int lanes, int64_t rows, int64_t vectors) {
  double sums = static_cast<double>(rows * vectors), loads = static_cast<double>(rows + vectors);
  double panel_bytes = static_cast<double>(s.k * vectors * lanes * s.sum_bytes);
  double late = panel_bytes > 16e3 ? static_cast<double>(vectors) : 0;
  // Each row of the result is another place in memory.
  double stores = (sums + 3 * static_cast<double>(rows)) / static_cast<double>(s.k);
  return std::max({sums / 2, 0.7 * loads, 4.0, 1.8 * late}) + 0.5 * late + 0.05 * loads + 0.3 +
         stores;
}

// Vectors that a line's last panel needs.
int64_t lastVectors(const ContractSizes& s, int lanes, int64_t vectors) {
  const int64_t rest = s.n % (vectors * lanes), needed = ceilDiv(rest, lanes);
  constexpr double kWorth = 0.06;  // of the work, for more code
  constexpr int64_t kFewProducts = 1 << 19;
  if (rest == 0 || s.n < vectors * lanes || s.n_side.lines > 1 || s.n_side.unit > 1) return vectors;
  const auto panels = static_cast<double>(ceilDiv(s.n, vectors * lanes));
  const double saved = static_cast<double>(vectors - needed) / static_cast<double>(vectors);
  return saved < kWorth * panels || s.m * s.n * s.k < kFewProducts ? vectors : needed;
}

// Of all tiles.
double stepCost(const ContractSizes& s, int lanes, int64_t rows, int64_t vectors) {
  double down = static_cast<double>(s.m_side.lines * ceilDiv(s.m, rows));
  double panels = static_cast<double>(s.n_side.lines * ceilDiv(s.n, vectors * lanes));
  double tiles = (panels - 1) * tileCost(s, lanes, rows, vectors) +
                 tileCost(s, lanes, rows, lastVectors(s, lanes, vectors));
  // Lines of the n side that are far apart are packed, or come one by one, which narrow panels do
  // more often.
  double far = down >= kWorthPacking ? kPackCycles * static_cast<double>(vectors * lanes) : 4;
  return down * tiles + (isFar(s.n_side) ? panels * far : 0);
}

// Of so few rows, blocks of the sum are shorter: what is packed for them is read a few times.
constexpr int64_t kFewRows = 128, kNearSteps = 128;
constexpr int64_t kBlockBytes = 4096;  // of a row or column

// The m side lies along its rows, far from one k to the next, and is read several times, more than
// the L2 cache is quick to give.
bool suitsAcross(const ContractSizes& s, const Machine& machine, const ContractTiling& t) {
  const ContractSide& m = s.m_side;
  if (t.parts > 1)
    return m.own_stride == 1 && m.unit == 1 && m.sum_stride != 1 && s.m >= kAcrossRows;
  constexpr int64_t kLarge = 512 << 10;
  const int64_t steps = std::min(s.k, s.m <= kFewRows ? kNearSteps : kBlockBytes / s.sum_bytes);
  bool far = m.own_stride == 1 && m.unit == 1 && std::abs(m.sum_stride) * m.bytes >= 256 &&
             s.m * steps * m.bytes >= kLarge;
  return far && s.m >= kAcrossRows && s.k >= 16 && s.n >= 4 * sumLanes(machine, s.sum_bytes);
}

// Few columns, of whose last vector less than a half is needed.
bool fillsHalves(const ContractSizes& s, const Machine& machine) {
  constexpr int64_t kFewVectors = 5;
  const int64_t lanes = sumLanes(machine, s.sum_bytes);
  return machine.halves_vectors && s.parts == 1 && s.n > lanes / 2 && s.n < kFewVectors * lanes &&
         ceilDiv(2 * s.n, lanes) < 2 * ceilDiv(s.n, lanes);
}

void chooseTile(const ContractSizes& s, const Machine& machine, ContractTiling& t) {
  t.lanes = sumLanes(machine, s.sum_bytes);
  while (t.lanes > 1 && t.lanes / 2 >= s.n) t.lanes /= 2;
  if (fillsHalves(s, machine)) t.lanes /= 2;
  int registers = machine.vector_registers / 8 * 7;  // for sums and the vectors of a step
  int64_t row_step = t.across ? kAcrossRows : s.m_side.unit;
  int64_t most_rows = collides(s.m_side) ? kMostCollidingRows : kMostRows;
  if (t.across) most_rows = kAcrossRows;
  double best = 1e300;
  int64_t most_vectors =
      std::min(streams(s) ? kStreamVectors : kMostTileVectors, ceilDiv(s.n, t.lanes));
  for (int vectors = 1; vectors <= most_vectors; ++vectors)
    for (int64_t rows = row_step; rows <= std::min(most_rows, s.m); rows += row_step) {
      if ((rows + 1) * vectors > registers) break;
      double cost = stepCost(s, t.lanes, rows, vectors);
      if (cost >= best) continue;
      best = cost;
      t.rows = rows;
      t.vectors = vectors;
    }
}

// Packing words pays where they are read several times, as vectors. They lie along a sum.
bool suitsWords(const ContractSizes& s) {
  return s.parts > 1 && s.rows() >= 4 && s.columns() >= 8 && s.n >= 4 && s.inner_k > 1 &&
         2 * s.inner_k >= s.parts;
}

// Whole tiles of rows and columns, and sums that are worth the packing.
bool suitsTiles(const ContractSizes& s) {
  return s.tile_parts > 1 && s.m >= kTileRows && s.n >= kTileRows &&
         kTileRows % s.m_side.unit == 0 && s.inner_k >= s.tile_parts * kTileRows;
}

// Two tiles down and two across, of whose eight registers four hold the sums.
void chooseTiles(const ContractSizes& s, ContractTiling& t) {
  t.in_tiles = true;
  t.lanes = kTileRows;
  t.vectors = s.n >= 2 * kTileRows ? 2 : 1;
  t.rows = s.m >= 2 * kTileRows ? 2 * kTileRows : kTileRows;
}

ContractSizes inWords(ContractSizes s) {
  int64_t steps = ceilDiv(s.inner_k, s.parts), outer_sums = s.k / s.inner_k;
  if (s.outer_k == s.k) s.outer_k = steps;
  s.k = outer_sums * steps;
  s.inner_k = steps;
  s.sum_bytes = 4;
  return s;
}

// Vectors along the sum are loaded as they lie, or shuffled out of few.
bool isNear(const ContractSide& side) {
  constexpr int64_t kMostLoads = 4;
  return side.sum_stride >= 1 && side.sum_stride <= kMostLoads;
}

// Few columns, or few rows of what would have to be turned: whole vectors are found only along k.
bool suitsAlong(const ContractSizes& s, const Machine& machine) {
  const ContractSide &m = s.m_side, &n = s.n_side;
  constexpr int64_t kFew = 8, kShort = 3;
  int64_t lanes = sumLanes(machine, s.sum_bytes);
  if (m.unit != 1) return false;
  bool few_columns =
      s.columns() <= kFew && s.rows() >= kFew && m.sum_stride == 1 && n.own_stride != 0;
  // Columns of several units lie side by side for less than a vector.
  bool apart = n.own_stride != 1 || n.unit > 1;
  int64_t most_rows = 2 * s.inner_k >= lanes ? kFew : s.inner_k - 2;  // each reads all columns
  bool few_rows = s.rows() <= most_rows && isNear(n) && apart;
  bool fills = s.inner_k > kShort || (s.inner_k == kShort && s.columns() <= kShort);
  return (few_columns && s.inner_k >= lanes && s.k >= 2 * lanes) || (few_rows && fills);
}

// Powers of two of rows and columns, whose sums of lanes fit one vector.
void chooseAlong(const ContractSizes& s, const Machine& machine, ContractTiling& t) {
  const int64_t most_columns = s.m < 4 ? 8 : 4;
  t.along_k = true;
  t.sum_lanes = sumLanes(machine, s.sum_bytes);
  while (t.sum_lanes / 2 >= s.inner_k) t.sum_lanes /= 2;
  const int64_t room = t.sum_lanes;
  t.vectors = t.lanes = 1;
  t.rows = 1;
  while (t.lanes < s.n && t.lanes < most_columns && t.lanes < room) t.lanes *= 2;
  while (2 * t.rows <= s.m && 2 * t.rows * t.lanes <= room && t.rows < 8) t.rows *= 2;
  bool once = ceilDiv(s.rows(), t.rows) < kWorthPacking;
  t.pack_n = s.n_side.sum_stride != 1 && !(once && isNear(s.n_side));
  bool whole = s.n >= t.lanes && s.n_side.own_stride == 1 && s.n_side.unit == 1;
  if (t.pack_n && whole && t.lanes >= 4 && s.inner_k >= t.lanes) t.square = t.lanes;
  t.pack_m = s.m_side.sum_stride != 1;
}

void choosePacking(const ContractSizes& s, ContractTiling& t) {
  const ContractSide &m = s.m_side, &n = s.n_side;
  int64_t tiles = m.lines * ceilDiv(s.m, t.rows), panels = n.lines * ceilDiv(s.n, t.panel());
  bool contiguous = std::abs(n.own_stride) <= 1;
  bool worth = tiles >= kWorthPacking && ((isFar(n) && s.k >= 32) || n.converts);
  t.pack_n = !contiguous || worth || n.unit != 1 || t.parts > 1;
  int64_t whole = t.parts > 1 ? s.inner_k - 1 : s.inner_k;  // the last word may not be
  // Larger squares take fewer shuffles, but far longer to compile.
  bool turned = t.pack_n && !contiguous && n.sum_stride == 1 && whole >= 4;
  t.square = !turned ? 0 : t.lanes >= 8 && whole >= 8 ? 8 : t.lanes >= 4 ? 4 : 0;
  bool m_far = std::abs(m.sum_stride) * m.bytes >= 256 && s.k >= 16 && m.own_stride != 1;
  t.pack_m = t.across || t.parts > 1 || (panels >= 2 && (m.converts || m_far));
}

// Long sums are cut so that what is packed and read again stays in a near cache, and so that lines
// of the n side that lie far apart are read many at a time, each as far as it goes.
void chooseBlock(const ContractSizes& s, ContractTiling& t) {
  constexpr int64_t kFarSteps = 32, kWhole = 16;
  int64_t steps = kBlockBytes / s.sum_bytes;
  if (t.in_tiles) steps /= 2;  // a block's rows and columns both
  else if (t.pack_n && !t.along_k && s.rows() <= kFewRows) steps = kNearSteps;
  bool far = !t.along_k && !t.pack_n && isFar(s.n_side) && s.n >= 4 * t.panel();
  if (far) steps = streams(s) ? kStreamSteps : kFarSteps;
  if (2 * s.k <= 3 * steps) return;
  int64_t inside = s.k / s.outer_k;
  t.block = ceilDiv(s.outer_k, ceilDiv(s.k, steps));
  if (t.block == s.outer_k) t.block = 0;
  if (inside > 1) return;
  // Vectors that are packed end where blocks do, and the last block has one at least.
  const int64_t whole = t.pack_m || t.pack_n ? kWhole : std::min(kWhole, steps);
  t.block = ceilDiv(t.block, whole) * whole;
  while (s.k % t.block != 0 && s.k % t.block <= whole) t.block += whole;
}

// Cycles of the whole product, apart from packing.
double allCycles(const ContractSizes& s, const Machine& machine, const ContractTiling& t) {
  double step = stepCost(s, t.lanes, t.rows, t.vectors);
  int lanes = sumLanes(machine, s.sum_bytes);
  if (t.along_k) step = static_cast<double>(s.rows() * s.columns()) / lanes;
  constexpr double kTileWords = 160;  // a cycle, where tiles come from the L1 cache
  if (t.in_tiles) step = static_cast<double>(s.rows() * s.columns()) / kTileWords;
  return step * static_cast<double>(s.k * s.batches);
}

// What a task packs stays in the L2 cache.
int64_t fewestColumnTasks(const ContractSizes& s, const Machine& machine, const ContractTiling& t) {
  if (!t.pack_n) return 1;
  int64_t steps = t.block > 0 ? t.block * (s.k / s.outer_k) : s.k;
  int64_t panel_bytes = t.roomFor(steps) * t.panel() * s.sum_bytes;
  int64_t panels = s.n_side.lines * t.line_panels;
  return ceilDiv(panels, std::max<int64_t>(1, machine.l2_bytes / 2 / panel_bytes));
}

// Cycles that a batch costs more for being cut in rows x columns tasks: what is packed, or else
// read, again, and the lines of a large result that are written piece by piece.
double cutCost(const ContractSizes& s, const Machine& machine, const ContractTiling& t, double rows,
               double columns) {
  constexpr double kBreak = 60, kFromL2 = 0.05, kFromL3 = 0.4;
  auto all_rows = static_cast<double>(s.rows()), all_columns = static_cast<double>(s.columns());
  auto k = static_cast<double>(s.k);
  bool turned = t.square || t.along_k;
  auto read = [&](int64_t lines) {
    return lines * s.k * s.sum_bytes <= machine.l2_bytes / 2 ? kFromL2 : kFromL3;
  };
  double n_again = turned ? 0.5 : t.pack_n || isFar(s.n_side) ? kPackCycles : 0;
  double m_again = t.pack_m ? kPackCycles : 0;
  bool is_large = s.rows() * s.columns() * s.sum_bytes > machine.l2_bytes / 2;
  double breaks = is_large ? kBreak * (columns - 1) * all_rows : 0;
  return (n_again + read(s.columns())) * rows * all_columns * k +
         (m_again + read(s.rows())) * columns * all_rows * k + breaks;
}

// Enough tasks to share out, none below some microseconds.
void chooseTasks(const ContractSizes& s, const Machine& machine, ContractTiling& t) {
  constexpr double kTaskCycles = 3e4, kMostTasks = 16, kProcessors = 4, kCycles = 3;
  int64_t tiles = s.m_side.lines * t.line_tiles, panels = s.n_side.lines * t.line_panels;
  double cycles = std::max(allCycles(s, machine, t), kCycles * s.nanoseconds);
  double batches = static_cast<double>(s.batches);
  double all_wanted = s.is_alone ? 1 : std::clamp(cycles / kTaskCycles, 1.0, kMostTasks);
  double wanted = all_wanted / batches;
  int64_t fewest_columns = fewestColumnTasks(s, machine, t);
  double best = 1e300;
  int64_t most_columns = std::max(fewest_columns, static_cast<int64_t>(kMostTasks));
  for (int64_t columns = fewest_columns; columns <= std::min(panels, most_columns); ++columns) {
    int64_t most = static_cast<int64_t>(std::ceil(wanted / static_cast<double>(columns)));
    for (int64_t rows = 1; rows <= std::clamp<int64_t>(most, 1, tiles); ++rows) {
      auto tasks = static_cast<double>(rows * columns);
      double shared = cycles / std::min({tasks * batches, all_wanted, kProcessors});
      double missing = std::max(0.0, wanted - tasks) * cycles / all_wanted;
      double cut = cutCost(s, machine, t, static_cast<double>(rows), static_cast<double>(columns));
      double cost = cut + shared + 0.1 * missing;
      if (cost >= best) continue;
      best = cost;
      t.row_tasks = rows;
      t.column_tasks = columns;
    }
  }
}

// The tiles and panels of each line.
void cutLines(const ContractSizes& s, ContractTiling& t) {
  constexpr int64_t kRowsTogether = 64;
  if (t.across) t.together = std::clamp<int64_t>(kRowsTogether / t.rows, 1, s.m / t.rows);
  t.line_tiles = ceilDiv(ceilDiv(s.m, t.rows), t.together) * t.together;
  t.line_panels = ceilDiv(s.n, t.panel());
  const bool is_plain = !t.in_tiles && !t.along_k && !t.across;
  t.last_vectors = is_plain ? static_cast<int>(lastVectors(s, t.lanes, t.vectors)) : t.vectors;
}

// The tiles and panels of each task.
void shareOut(const ContractSizes& s, ContractTiling& t) {
  int64_t tiles = s.m_side.lines * t.line_tiles, panels = s.n_side.lines * t.line_panels;
  t.tiles = ceilDiv(ceilDiv(tiles, t.row_tasks), t.together) * t.together;
  t.row_tasks = ceilDiv(tiles, t.tiles);
  t.panels = ceilDiv(panels, t.column_tasks);
  t.column_tasks = ceilDiv(panels, t.panels);
}

}  // namespace

int sumLanes(const Machine& machine, int64_t sum_bytes) {
  return machine.vector_bytes / static_cast<int>(std::max<int64_t>(4, sum_bytes));
}

ContractTiling chooseTiling(ContractSizes sizes, const Machine& machine) {
  ContractTiling tiling;
  if (suitsTiles(sizes)) {
    tiling.parts = sizes.parts = sizes.tile_parts;
    sizes = inWords(sizes);
    chooseTiles(sizes, tiling);
    choosePacking(sizes, tiling);
  } else if (suitsAlong(sizes, machine)) {
    chooseAlong(sizes, machine, tiling);
  } else {
    if (suitsWords(sizes)) {
      tiling.parts = sizes.parts;
      sizes = inWords(sizes);
    }
    tiling.across = suitsAcross(sizes, machine, tiling);
    chooseTile(sizes, machine, tiling);
    choosePacking(sizes, tiling);
  }
  chooseBlock(sizes, tiling);
  cutLines(sizes, tiling);
  chooseTasks(sizes, machine, tiling);
  shareOut(sizes, tiling);
  return tiling;
}

}  // namespace tercel::kernel
