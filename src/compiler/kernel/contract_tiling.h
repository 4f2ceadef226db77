// How a contraction is cut in register tiles, packed and shared out: decided from its sizes alone.
#pragma once
#include <cstdint>

#include "compiler/kernel/cluster.h"

namespace tercel::kernel {

// One operand as the loops of a contraction see it: `own` is the dimension that only this operand
// has (rows of the m side, columns of the n side), in each of `lines`; `sum` the innermost one of
// the sum.
struct ContractSide {
  int64_t lines = 1;  // so many times, each at another place
  int64_t unit = 1;   // own_stride holds within so many; more are not cut
  int64_t own_stride = 0, sum_stride = 0;
  int64_t widest_sum_stride = 0;  // of all dimensions of the sum
  int64_t bytes = 4;              // of an element in memory
  bool converts = false;          // elements are held in another type
};

struct ContractSizes {
  int64_t m = 1, n = 1, k = 1;  // rows and columns of a line
  int64_t inner_k = 1, outer_k = 1;  // innermost and outermost dimension of the sum
  int64_t batches = 1;
  int64_t sum_bytes = 4;
  int64_t parts = 1;  // products along the sum that a lane can add up at once
  int64_t tile_parts = 1;  // that an element of the machine's tiles can; 1: they cannot
  bool is_alone = false;   // on one thread
  double nanoseconds = 0;  // of all that the kernel does, about
  ContractSide m_side, n_side;

  int64_t rows() const { return m_side.lines * m; }
  int64_t columns() const { return n_side.lines * n; }
};

// A tile of rows x (vectors x lanes) sums lives in registers over a block of the sum. Tiles at the
// end are moved back to overlap their neighbours instead of being cut: only where n is smaller than
// one vector are lanes left over.
struct ContractTiling {
  int lanes = 1;  // of the sums
  int vectors = 1;
  int last_vectors = 1;  // so many of a line's last panel, where the others are the tile's before
  int64_t rows = 1;
  bool in_tiles = false;  // a block of the machine's tiles instead, which take words of both sides
  // Vectors lie along the sum instead; one for each row and column, of so many lanes.
  bool along_k = false;
  int sum_lanes = 1;
  bool pack_m = false, pack_n = false;
  // So many neighbours along the sum are packed in one lane of 32 bits. Steps of the sum are these
  // words; the last one may lack some.
  int64_t parts = 1;
  bool across = false;  // m side packed as [k][row] instead of [row][k],
  int64_t together = 1;  // so many tiles at once
  int square = 0;       // n side packed by turning squares of so many elements a side
  // The sum is cut in blocks of so many of its outermost dimension, whose sums meet in memory: what
  // is read again stays in a nearer cache. 0: one block.
  int64_t block = 0;
  int64_t line_tiles = 1, line_panels = 1;
  // Tasks: row_tasks x column_tasks of each batch, of so many tiles and panels.
  int64_t row_tasks = 1, column_tasks = 1;
  int64_t tiles = 1, panels = 1;

  int64_t panel() const { return static_cast<int64_t>(vectors) * lanes; }
  // Steps that memory has room for: tiles take whole ones.
  int64_t roomFor(int64_t steps) const {
    return in_tiles ? (steps + kTileRows - 1) / kTileRows * kTileRows : steps;
  }
};

// Lanes of a vector that holds sums of this size.
int sumLanes(const Machine& machine, int64_t sum_bytes);

ContractTiling chooseTiling(ContractSizes sizes, const Machine& machine);

}  // namespace tercel::kernel
