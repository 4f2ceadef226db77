// Where a dot_general or a convolution reads its operands for an output element and a step of the
// sum.
#pragma once
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

}  // namespace tercel::kernel
