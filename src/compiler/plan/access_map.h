// How a value inside a cluster is indexed by the cluster's domain.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::plan {

inline constexpr int64_t kFew = 4096;  // elements that may be read in any order

// The loops of a cluster: the dimensions of its outputs, with those of its reductions where it has
// any (appended where the outputs lack them).
struct Domain {
  Dims extents;
  std::vector<bool> reduced;
  SmallVector<int32_t, 6> order = {};  // that the first reduction's operand has the dimensions in

  static Domain of(const Dims& dims) {
    return {dims, std::vector<bool>(dims.size(), false)};
  }
  bool hasReduced() const;
};

// regular: dimension i of the value is indexed by domain dimension dims[i], or is of size 1 where
// that is -1. repeats: how often each element is evaluated. turned: in two orders of the dimensions.
// divided: coordinates are quotients and remainders of the domain's, which no cut of its loops avoids.
struct AccessMap {
  bool regular = true;
  bool turned = false;
  bool divided = false;
  SmallVector<int32_t, 6> dims;
  double repeats = 1;

  static AccessMap identity(const Domain& domain);
  bool isIdentity(const Domain& domain) const;
};

// Two uses of one value.
AccessMap meet(const AccessMap& a, const AccessMap& b);
// Of an operand, from that of the op's result.
AccessMap operandMap(const ir::Module& module, const ir::Op& op, size_t operand,
                     const AccessMap& result, const Domain& domain);
// Makes the domain that of a reduction whose result is indexed by `result`; false where the domain
// has other rows.
bool extendForReduce(const ir::Module& module, const ir::Op& reduce, const AccessMap& result,
                     Domain& domain);

}  // namespace tercel::plan
