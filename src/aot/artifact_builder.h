// Puts artifacts together: globals, procedures read from StableHLO, code for the CPU levels asked
// for.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aot/shared_constants.h"
#include "compiler/compile.h"
#include "core/status.h"
#include "program/artifact.h"

namespace tercel::aot {

class ArtifactBuilder {
 public:
  explicit ArtifactBuilder(std::string name) { artifact_.name = std::move(name); }
  // To go on with one that was saved.
  explicit ArtifactBuilder(program::Artifact artifact);

  void setTree(std::string tree) { artifact_.tree = std::move(tree); }
  // Of instances that do not say; code is the same for any number.
  Status setNumThreads(int32_t num_threads);
  // `data`: shape.bytes() of them, or empty for a global without a value.
  Status addGlobal(program::Global global, std::span<const std::byte> data);
  // Reads `procedure.module` and checks that its main is of the procedure's shapes. UNIMPLEMENTED
  // names an op or custom call that needs Python.
  // Where `unnamed` is there, its arguments and results are taken from main, whose open sizes it
  // gives.
  Status addProcedure(program::Procedure procedure,
                      const compiler::GivenArguments* unnamed = nullptr);
  // 0 to 3, for compile(); 2 where it was not called. Code from before is dropped.
  Status setOptimizationLevel(int level);
  // `targets`: "native", "aarch64" or levels of x86-64 with commas between them; of levels the most
  // demanding comes first in the artifact. Code from before is dropped.
  Status compile(std::string_view targets);

  // The globals' values with it. INVALID_ARGUMENT where something is wrong with names and numbers.
  Result<program::Artifact> finish() const;

 private:
  void dropCode();

  program::Artifact artifact_;
  std::vector<std::byte> data_;  // of globals
  SharedConstants shared_;
  int optimization_level_ = 2;
};

}  // namespace tercel::aot
