// Where a dot_general or a convolution reads its operands for an output element and a step of the
// sum.
#pragma once
#include <algorithm>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/kernel/index.h"

namespace tercel::kernel {

class Contraction {
 public:
  Contraction(const ir::Module& module, const ir::Op& op);

  // No padding and no input dilation.
  bool simple() const;
  const Dims& extents() const { return extents_; }  // of the sum
  Indices lhs(IndexSpace& space, const Indices& out, const Indices& k) const;
  Indices rhs(IndexSpace& space, const Indices& out, const Indices& k) const;

 private:
  const ir::Module& m_;
  const ir::Op& op_;
  Dims extents_;
};

// Whether each element of one operand of a dot_general is in one product: their kernels look for
// subnormal numbers, where those of others are given operands that are scaled
// (runtime/kernels/rescale.h).
bool isVectorProduct(const ir::Module& module, const ir::Op& dot);

// A dimension of a convolution's window at the edges of a padded input: element out * stride + tap of
// it is a zero before `low` and from `high` on.
struct ZeroEdge {
  size_t sum;  // its number among the dimensions of the sum
  size_t out;  // and of the result
  int64_t stride, low, high;

  // The taps that meet no zero, of the window at `out`.
  int64_t firstTap(int64_t at) const { return std::max<int64_t>(0, low - at * stride); }
  int64_t lastTap(int64_t at, int64_t taps) const { return std::min(taps, high - at * stride); }
};

std::vector<ZeroEdge> zeroEdges(const ir::Module& module, const ir::Op& op);

}  // namespace tercel::kernel
