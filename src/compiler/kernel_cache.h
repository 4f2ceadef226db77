// Object code that this process made before: of kernels, and of the functions that they share.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/codegen/codegen.h"
#include "compiler/compiled_kernel.h"

namespace tercel::compiler {

using SharedKernel = std::shared_ptr<const CompiledKernel>;
using SharedFunction = std::shared_ptr<const CompiledFunction>;

// Least recently used kernels leave when the object code exceeds the limit.
class KernelCache {
 public:
  static KernelCache& instance();
  SharedKernel find(const std::string& key);  // or null
  void insert(const std::string& key, SharedKernel kernel);

 private:
  static constexpr size_t kLimit = size_t{256} << 20;
  using Order = std::list<std::pair<std::string, SharedKernel>>;
  std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, Order::iterator> entries_;
  size_t bytes_ = 0;
};

// The functions of this process's kernels; there are few.
class FunctionCache {
 public:
  static FunctionCache& instance();
  // Whether all of the kernel's functions are there.
  bool hasAll(const kernel::Kernel& kernel, const codegen::Target& target,
              const codegen::CodegenOptions& options);
  // Who else wants the same function waits for who compiles it.
  Result<SharedFunction> get(const kernel::Kernel& kernel, kernel::FunctionId function,
                             const codegen::Target& target,
                             const codegen::CodegenOptions& options);

 private:
  struct Entry {
    std::mutex mutex;
    SharedFunction compiled;
  };
  Entry& entryOf(const std::string& key);

  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace tercel::compiler
