// A domain that bounds cut beside its rows, too, one row after another: memory is written in order.
#pragma once
#include <memory>

#include "compiler/kernel/element_loops.h"

namespace tercel::kernel {

class DomainRows {
 public:
  DomainRows(Lowering& low, const Dims& domain, const Evaluate& evaluate);
  DomainRows(const DomainRows&) = delete;

  // Whether there are rows, and few enough kinds of them; else nothing else may be called.
  bool suits() const { return !kinds_.empty(); }
  bool cutsRow() const;  // else a row is put together in registers
  int64_t tasks() const { return elementCount(taken()); }
  void emitTask(V task);

 private:
  // Indices of one dimension that are alike, with what is so for them along the next one; of the
  // rows' own dimension, a piece of the row.
  struct Kind {
    int64_t start = 0, extent = 0;
    std::vector<Kind> inner;
    std::unique_ptr<ElementLoops> row;
  };
  using Kinds = std::vector<Kind>;
  // Where a row is along a dimension that tasks or loops enumerate; counted from `start`.
  struct Place {
    int64_t start, extent;
    V at;  // invalid while nothing is emitted
  };

  Dims taken() const { return Dims(domain_.begin(), domain_.begin() + taken_); }
  size_t rowDimension(const Piece& whole) const;
  Kinds kindsOf(const Piece& piece, size_t dimension);
  Kind rowPiece(const Piece& piece, int64_t start, int64_t extent);
  void emitKinds(const Kinds& kinds, size_t dimension, std::span<const V> at);
  void emitKindOf(const Kinds& kinds, size_t which, size_t dimension, std::span<const V> at);
  void emitAt(const Kind& kind, V place, size_t dimension, std::span<const V> at);

  Lowering& low_;
  Builder& b_;
  const Dims& domain_;
  const Evaluate& evaluate_;
  Evaluate evaluate_row_;
  size_t row_ = 0;    // the dimension along which rows are cut; those inside of it are whole
  size_t taken_ = 0;  // dimensions that tasks enumerate
  size_t ops_ = 0;    // of all pieces together
  std::vector<Place> places_;
  Kinds kinds_;
};

}  // namespace tercel::kernel
