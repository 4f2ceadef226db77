#include "runtime/engine/run_once.h"

#include <utility>

#include "runtime/engine/loaded_program.h"

namespace tercel::engine {

Result<std::vector<std::vector<std::byte>>> runOnce(program::Program program) {
  std::vector<program::AlignedBytes> memory;
  for (const program::ResultInfo& result : program.results)
    memory.emplace_back(result.shape.bytes());
  std::vector<void*> pointers;
  for (program::AlignedBytes& bytes : memory) pointers.push_back(bytes.data());
  TERCEL_ASSIGN(auto loaded, LoadedProgram::load(std::move(program)));
  Invocation invocation;
  invocation.results = pointers.data();
  TERCEL_TRY(loaded->run(invocation));
  std::vector<std::vector<std::byte>> results;
  for (const program::AlignedBytes& bytes : memory) results.emplace_back(bytes.begin(), bytes.end());
  return results;
}

}  // namespace tercel::engine
