// Small Programs put together by hand, with C++ functions for kernels.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/engine/loaded_program.h"

namespace tercel::test {

class ProgramMaker {
 public:
  ProgramMaker() { program.sequences.resize(1); }

  uint32_t argument(Shape shape, int32_t aliased_result = -1);  // returns its slot
  uint32_t result(Shape shape);
  uint32_t arena(int64_t bytes);
  uint32_t constant(const void* data, int64_t bytes);
  uint32_t slot(program::Place place, uint32_t index, int64_t offset, int64_t bytes);
  uint32_t kernel(const std::string& symbol, engine::KernelFn fn, int64_t scratch_bytes = 0);
  uint32_t sequence();

  void run(uint32_t sequence, uint32_t kernel, std::vector<uint32_t> slots, int64_t tasks = 1,
           int64_t grain = 1);
  void copy(uint32_t sequence, uint32_t from, uint32_t to);
  program::Step& step(uint32_t sequence, program::StepKind kind, std::vector<uint32_t> slots);

  Result<std::shared_ptr<engine::LoadedProgram>> load() const;

  program::Program program;
  std::map<std::string, engine::KernelFn, std::less<>> functions;
};

// run(program, {args}, {results}) on the calling thread, or on `pool`.
Status runOn(const engine::Runner& runner, std::vector<void*> args, std::vector<void*> results,
             engine::ThreadPool* pool = nullptr, engine::CustomCallHandler* handler = nullptr);

}  // namespace tercel::test
