// What is wrong with a module, found out in a child process, which may die of it.
#pragma once
#include <cstdint>
#include <string>

#include "compiler/ir/module.h"

namespace tercel::tools {

struct Trial {
  std::string pass;      // compare the evaluator's results before and after it; empty: native code
  int64_t seed = 0;      // of the arguments
  bool special = false;  // NaN, infinities, zeros of both signs and the like among them
  int64_t seconds = 20;  // of the child, before it counts as hung
};

struct Failure {
  enum class Kind : uint8_t { none, difference, error, crash, hang } kind = Kind::none;
  std::string message;
};

Failure failureOf(const ir::Module& module, const Trial& trial);

}  // namespace tercel::tools
