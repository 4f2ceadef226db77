// How near the evaluator's results native code must come.
#pragma once
#include <string>

#include "compiler/ir/literal.h"

namespace tercel::compiler {

struct Closeness {
  double ulps = 0;           // of each float; complex numbers: of the larger part
  bool of_largest = false;   // instead: rounding in proportion to the array's largest number

  static Closeness exact() { return {}; }  // bits, but for NaNs'
  static Closeness within(double ulps) { return {ulps}; }
  static Closeness sums() { return {0, true}; }

  // "" where `got` is near enough; integers must be equal.
  std::string difference(const ir::Literal& got, const ir::Literal& wanted) const;
};

}  // namespace tercel::compiler
