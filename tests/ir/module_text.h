// Modules for tests, from one function's arguments and lines.
#pragma once
#include <string>
#include <string_view>

#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"

namespace tercel::ir {

inline std::string mainOf(std::string_view args, std::string_view body) {
  return cat("module @test {\nfunc @main(", args, ") -> () {\n", body, "\nreturn\n}\n}\n");
}

// The message of the parser or the verifier; empty where both accept.
inline std::string errorOf(std::string_view text) {
  auto module = parse(text);
  if (!module.ok()) return module.status().message();
  return verify(*module).message();
}

inline bool mentions(std::string_view message, std::string_view part) {
  return message.find(part) != std::string_view::npos;
}

}  // namespace tercel::ir
