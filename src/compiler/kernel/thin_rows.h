// Rows of a few elements, one after another in memory, as many at a time as a vector has lanes:
// their columns as vectors, and back.
#pragma once
#include "compiler/kernel/nest.h"
#include "compiler/kernel/thin_lines.h"

namespace tercel::kernel {

inline constexpr int64_t kLongestThinRow = 16;  // elements

class ThinRows {
 public:
  ThinRows(Lowering& low, IndexSpace& space, int64_t length, int lanes);

  // Of an input that is all rows: its columns from the place of a row on, of so many rows.
  std::vector<V> load(Emitter& e, ir::Value input, V place, int64_t rows) const;
  // Of an output. What is stored behind rows, those that follow overwrite.
  void store(Emitter& e, size_t output, V place, const std::vector<V>& columns,
             int64_t rows) const;

 private:
  Index lanesFrom(V place, int64_t beyond, int64_t elements) const;
  Guard first(int64_t elements) const;
  std::vector<V> asWords(std::vector<V> flags) const;

  Lowering& low_;
  Builder& b_;
  IndexSpace& space_;
  int64_t length_, lanes_;
  int64_t whole_;  // elements of the rows that a vector has whole
};

}  // namespace tercel::kernel
