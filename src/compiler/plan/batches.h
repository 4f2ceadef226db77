// Dimensions of different arrays that go through the same batch: each line of one is made of one line
// of the other.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::plan {

// Nanoseconds, about, that one core takes for it.
double workOf(const ir::Module& module, const ir::Op& op);

class Batches {
 public:
  Batches(const ir::Module& module, std::span<const ir::OpId> ops);

  static constexpr size_t kNone = ~size_t{0};
  // The batch that a dimension goes through.
  size_t of(ir::Value v, size_t dimension) const;
  int64_t rows(size_t batch) const { return dimensions_[batch].lines; }
  // Those that most of the work goes through, the most first.
  std::vector<size_t> largest() const;

 private:
  struct Dimension {
    int64_t lines = 0;
    size_t parent = kNone;
    double work = 0;  // of all that is in the batch
  };
  size_t number(ir::Value v, size_t dimension);
  size_t top(size_t dimension) const;
  void join(size_t a, size_t b);

  const ir::Module& m_;
  std::vector<Dimension> dimensions_;
  std::unordered_map<uint32_t, size_t> first_;  // of a value
};

}  // namespace tercel::plan
