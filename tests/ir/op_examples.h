// At least one printed line for every op of the table; the round-trip test fails for an op without.
#pragma once
#include <string>
#include <string_view>

#include "core/status.h"

namespace tercel::ir {

struct OpExample {
  std::string_view op;
  std::string_view args;  // of the function around it
  std::string_view body;  // without the four spaces of indentation, but those of its regions
};

inline constexpr OpExample kOpExamples[] = {
#define EXAMPLE(op, args, body) {#op, args, body},
#include "op_examples.def"
};

// A whole module around the example, as the printer would write it.
inline std::string moduleOf(const OpExample& example) {
  return cat("module @example {\n  func @main(", example.args, ") -> () {\n    ", example.body,
             "\n    return\n  }\n  func private @twice(%0: f32[]) -> (f32[]) {\n",
             "    %1 = add(%0, %0) : f32[]\n    return %1\n  }\n}\n");
}

}  // namespace tercel::ir
