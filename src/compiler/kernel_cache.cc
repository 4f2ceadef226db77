#include "compiler/kernel_cache.h"

#include <algorithm>

namespace tercel::compiler {
namespace {

std::string keyOf(const kernel::Function& function, const codegen::Target& target,
                  const codegen::CodegenOptions& options) {
  return cat(function.name, '\n', toString(target.architecture), target.cpu, target.features, '\n',
             options.opt_level);
}

}  // namespace

KernelCache& KernelCache::instance() {
  static auto* cache = new KernelCache;
  return *cache;
}

SharedKernel KernelCache::find(const std::string& key) {
  std::lock_guard lock(mutex_);
  auto at = entries_.find(key);
  if (at == entries_.end()) return nullptr;
  order_.splice(order_.begin(), order_, at->second);
  return at->second->second;
}

void KernelCache::insert(const std::string& key, SharedKernel kernel) {
  std::lock_guard lock(mutex_);
  if (entries_.contains(key)) return;
  bytes_ += kernel->object.size() + key.size();
  order_.emplace_front(key, std::move(kernel));
  entries_[key] = order_.begin();
  while (bytes_ > kLimit && order_.size() > 1) {
    bytes_ -= order_.back().second->object.size() + order_.back().first.size();
    entries_.erase(order_.back().first);
    order_.pop_back();
  }
}

FunctionCache& FunctionCache::instance() {
  static auto* cache = new FunctionCache;
  return *cache;
}

bool FunctionCache::hasAll(const kernel::Kernel& kernel, const codegen::Target& target,
                           const codegen::CodegenOptions& options) {
  std::lock_guard lock(mutex_);
  return std::ranges::all_of(kernel.functions, [&](const kernel::Function& function) {
    return entries_.contains(keyOf(function, target, options));
  });
}

Result<SharedFunction> FunctionCache::get(const kernel::Kernel& kernel,
                                          kernel::FunctionId function,
                                          const codegen::Target& target,
                                          const codegen::CodegenOptions& options) {
  Entry& entry = entryOf(keyOf(kernel.functions[function], target, options));
  std::lock_guard lock(entry.mutex);
  if (!entry.compiled) {
    TERCEL_ASSIGN(codegen::ObjectCode code,
                  codegen::compileFunction(kernel, function, target, options));
    entry.compiled = std::make_shared<const CompiledFunction>(
        CompiledFunction{code.symbols[0], std::move(code.bytes)});
  }
  return entry.compiled;
}

FunctionCache::Entry& FunctionCache::entryOf(const std::string& key) {
  std::lock_guard lock(mutex_);
  return entries_[key];
}

}  // namespace tercel::compiler
