// Matrices of few rows and columns by their entries, each an array over the batch: what is computed
// with them is elementwise.
#pragma once
#include <vector>

#include "compiler/ir/builder.h"

namespace tercel::passes {

class Entries {
 public:
  Entries(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), values_(static_cast<size_t>(rows * columns)) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  ir::Value& operator()(int64_t i, int64_t j) {
    return values_[static_cast<size_t>(i * columns_ + j)];
  }
  const std::vector<ir::Value>& rowMajor() const { return values_; }
  Entries turned() const;

 private:
  int64_t rows_, columns_;
  std::vector<ir::Value> values_;
};

// Of [batch..., rows, columns], and such an array of them.
Entries entriesOf(ir::Builder& b, ir::Value matrices);
ir::Value matricesOf(ir::Builder& b, const Entries& entries);

// What stands at i of a dimension, which the result has no more; and its reverse.
ir::Value lineAt(ir::Builder& b, ir::Value v, size_t dimension, int64_t i);
ir::Value stacked(ir::Builder& b, const std::vector<ir::Value>& lines, size_t dimension);

ir::Value conjugated(ir::Builder& b, ir::Value v);  // of any dtype

}  // namespace tercel::passes
