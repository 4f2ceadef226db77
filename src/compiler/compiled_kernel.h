// Object code of kernels and of what they share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tercel::compiler {

struct CompiledFunction {
  std::string symbol;
  std::vector<std::byte> object;
};

// One kernel's object code, and what a step that runs it must know.
struct CompiledKernel {
  std::vector<std::byte> object;
  std::vector<std::shared_ptr<const CompiledFunction>> functions;  // that it calls
  std::string symbol;
  int64_t scratch_bytes = 0;
  int64_t tasks = 1;
  double cost = 0;  // nanoseconds on one core
};

}  // namespace tercel::compiler
