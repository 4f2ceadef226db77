#include "compiler/passes/entries.h"

namespace tercel::passes {

using ir::Builder;
using ir::Ints;
using ir::OpKind;
using ir::Value;

Entries Entries::turned() const {
  Entries result(columns_, rows_);
  for (size_t k = 0; k < values_.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    result(at % columns_, at / columns_) = values_[k];
  }
  return result;
}

Entries entriesOf(Builder& b, Value matrices) {
  const Dims dims = b.shape(matrices).dims;
  const size_t row = dims.size() - 2, column = dims.size() - 1;
  Entries entries(dims[row], dims[column]);
  Ints start(dims.size(), 0), limit(dims.begin(), dims.end()), strides(dims.size(), 1);
  for (int64_t i = 0; i < dims[row]; ++i)
    for (int64_t j = 0; j < dims[column]; ++j) {
      start[row] = i, limit[row] = i + 1, start[column] = j, limit[column] = j + 1;
      entries(i, j) =
          b.reshape(b.slice(matrices, start, limit, strides), {dims.begin(), dims.end() - 2});
    }
  return entries;
}

Value matricesOf(Builder& b, const Entries& entries) {
  Dims dims = b.shape(entries.rowMajor()[0]).dims;
  Value all = stacked(b, entries.rowMajor(), dims.size());
  dims.push_back(entries.rows());
  dims.push_back(entries.columns());
  return b.reshape(all, dims);
}

Value lineAt(Builder& b, Value v, size_t dimension, int64_t i) {
  Dims dims = b.shape(v).dims;
  Ints start(dims.size(), 0), limit(dims.begin(), dims.end()), strides(dims.size(), 1);
  start[dimension] = i, limit[dimension] = i + 1;
  Value line = b.slice(v, start, limit, strides);
  dims.erase(dimension);
  return b.reshape(line, dims);
}

Value stacked(Builder& b, const std::vector<Value>& lines, size_t dimension) {
  ir::Values parts;
  for (Value line : lines) {
    Dims dims = b.shape(line).dims;
    dims.insert(dimension, 1);
    parts.push_back(b.reshape(line, dims));
  }
  return parts.size() == 1 ? parts[0] : b.concatenate(parts, static_cast<int64_t>(dimension));
}

Value conjugated(Builder& b, Value v) {
  if (!isComplex(b.shape(v).dtype)) return v;
  Value im = b.unary(OpKind::negate_, b.unary(OpKind::imag_, v));
  return b.binary(OpKind::complex_, b.unary(OpKind::real_, v), im);
}

}  // namespace tercel::passes
