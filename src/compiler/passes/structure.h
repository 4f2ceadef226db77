// Equality of ops by what they are, not by where they are.
#pragma once
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::passes {

// Of the op's kind, attributes, result types and regions, without its operands.
uint64_t structuralHash(const ir::Module& module, const ir::Op& op);
uint64_t combine(uint64_t hash, uint64_t value);

// Compares ops and their regions; values inside of regions correspond by position.
class StructuralEquality {
 public:
  explicit StructuralEquality(const ir::Module& module) : module_(module) {}
  // Same kind, attributes, result types and regions; operands are the caller's to compare.
  bool sameExceptOperands(const ir::Op& a, const ir::Op& b);

 private:
  bool sameRegion(ir::RegionId a, ir::RegionId b);
  bool sameOp(const ir::Op& a, const ir::Op& b);
  bool sameValues(const ir::Values& a, const ir::Values& b) const;
  void pair(const ir::Values& a, const ir::Values& b);

  const ir::Module& module_;
  std::vector<ir::Value> twin_;  // by value inside of b: the one inside of a
};

}  // namespace tercel::passes
