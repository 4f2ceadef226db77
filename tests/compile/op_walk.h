// The uses of elementwise ops that the verifier accepts: each op of the table on each element type.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "compile/closeness.h"
#include "compile/values.h"
#include "compiler/ir/module.h"

namespace tercel::compiler {

struct Use {
  std::vector<std::string> operands;  // types
  std::string op;                     // "add", with its attributes
  std::string attrs;
  std::string result;  // type
  bool is_complex = false;
};

// The unary and binary ops, select and clamp.
std::vector<ir::OpKind> elementwiseOps();
std::vector<Use> usesOf(ir::OpKind kind);
// A main that returns the result of each use.
std::string functionOf(std::span<const Use> uses);

Numbers numbersFor(ir::OpKind kind, bool complex);
Closeness closenessOf(ir::OpKind kind, bool complex);

}  // namespace tercel::compiler
