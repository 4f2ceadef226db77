// One kernel's object code, and what a step that runs it must know.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tercel::compiler {

struct CompiledKernel {
  std::vector<std::byte> object;
  std::string symbol;
  int64_t scratch_bytes = 0;
  int64_t tasks = 1;
  double cost = 0;  // nanoseconds on one core
};

}  // namespace tercel::compiler
