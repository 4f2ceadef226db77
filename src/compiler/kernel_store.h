// Compiled kernels in a folder, for later processes: one Program file each, named by a hash of the
// kernel's key, the CPU, and this build of Tercel.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "compiler/codegen/codegen.h"
#include "compiler/compiled_kernel.h"

namespace tercel::compiler {

// Safe for any number of threads and processes at once. A file that is missing, damaged or another
// key's is a miss; what cannot be written (a full disk, a missing right) is said once in the log.
class KernelStore {
 public:
  // Null where it cannot be told which build of Tercel this is, which is said, too.
  static std::unique_ptr<KernelStore> open(const std::string& folder,
                                           const codegen::Target& target);

  std::optional<CompiledKernel> find(const std::string& key) const;
  void insert(const std::string& key, const CompiledKernel& kernel) const;

 private:
  KernelStore(std::string folder, codegen::Target target);
  std::string pathOf(const std::string& key) const;
  std::string folder_;
  codegen::Target target_;
};

}  // namespace tercel::compiler
