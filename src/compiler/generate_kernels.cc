#include "compiler/generate_kernels.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "compiler/codegen/codegen.h"
#include "compiler/kernel/nest.h"
#include "compiler/kernel/text.h"
#include "compiler/kernel/verifier.h"
#include "compiler/kernel_cache.h"
#include "compiler/kernel_store.h"
#include "compiler/step_costs.h"

namespace tercel::compiler {
namespace {

constexpr int kCodegenLevel = 2;

// Below it LLVM makes the same code of kernels, which are all explicit.
int codegenLevel(const CompileOptions& options) {
  return std::max(kCodegenLevel, options.optimization_level);
}

kernel::Machine machineOf(const codegen::Target& target) {
  kernel::Machine machine;
  machine.vector_bytes = target.vector_bytes;
  machine.vector_registers = target.vector_registers;
  machine.has_scalb = machine.has_rsqrt14 = target.has_avx512;
  machine.slow_subnormals = target.slow_subnormals;
  machine.slow_division = target.slow_division;
  machine.halves_vectors = target.halves_vectors;
  machine.masked_bytes = target.has_avx512 ? 1 : target.has_avx2 ? 4 : 16;
  machine.has_pair_dot = target.has_pair_dot;
  machine.has_byte_dot = target.byte_dot_bytes >= target.vector_bytes;
  machine.has_bf16_dot = target.has_bf16_dot;
  machine.lookup_bytes = target.lookup_bytes;
  machine.has_tiles = target.has_tiles;
  machine.has_half_arithmetic = target.has_avx512_fp16;
  machine.l2_bytes = target.l2_bytes;
  return machine;
}

std::string symbolFor(const std::string& key, const std::string& name) {
  std::string clean;
  for (char c : name.substr(0, 48)) clean += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016zx", std::hash<std::string>{}(key));
  return cat("tercel_", clean, "_", hash);
}

// Runs work(i) for i < count on as many threads as pay.
template <class Work>
void inParallel(size_t count, Work&& work) {
  size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) work(i);
  };
  std::vector<std::thread> helpers;
  try {
    for (size_t t = 1; t < threads; ++t) helpers.emplace_back(run);
  } catch (const std::exception&) {
    // The machine has no more threads: those there are do the work.
  }
  run();
  for (std::thread& t : helpers) t.join();
}

Result<std::vector<SharedFunction>> functionsOf(const kernel::Kernel& kernel,
                                                const codegen::Target& target,
                                                const codegen::CodegenOptions& options) {
  std::vector<SharedFunction> functions;
  for (kernel::FunctionId f = 0; f < kernel.functions.size(); ++f) {
    TERCEL_ASSIGN(auto function, FunctionCache::instance().get(kernel, f, target, options));
    functions.push_back(std::move(function));
  }
  return functions;
}

// A kernel's object code, that of its functions made meanwhile where they are new.
Result<SharedKernel> compiled(const kernel::Kernel& kernel, const codegen::Target& target,
                              const codegen::CodegenOptions& options) {
  const bool known = FunctionCache::instance().hasAll(kernel, target, options);
  auto functions = std::async(known ? std::launch::deferred
                                    : std::launch::async | std::launch::deferred,
                              [&] { return functionsOf(kernel, target, options); });
  const kernel::Kernel* kernels[] = {&kernel};
  TERCEL_ASSIGN(codegen::ObjectCode object, codegen::compileKernels(kernels, target, options));
  auto made = std::make_shared<CompiledKernel>();
  made->object = std::move(object.bytes);
  TERCEL_ASSIGN(made->functions, functions.get());
  made->symbol = kernel.name;
  made->scratch_bytes = kernel.scratch_bytes;
  made->tasks = kernel.tasks;
  made->cost = kernel.cost;
  return SharedKernel(std::move(made));
}

// The kernels of one plan.
class Generator {
 public:
  Generator(const ir::Module& module, const plan::Plan& plan, const codegen::Target& target,
            const CompileOptions& options)
      : module_(module), plan_(plan), target_(target), options_(options) {}

  Result<std::vector<SharedKernel>> run() {
    const std::vector<size_t> missing = findKnown();
    if (!missing.empty() && !options_.cache_dir.empty() && !options_.dump)
      store_ = KernelStore::open(options_.cache_dir, target_);
    std::mutex mutex;
    Status failure;
    inParallel(missing.size(), [&](size_t m) {
      const Status status = make(missing[m]);
      if (status.ok()) return;
      std::lock_guard lock(mutex);
      if (failure.ok()) failure = status.within(plan_.names[missing[m]]);
    });
    TERCEL_TRY(failure);
    return std::move(kernels_);
  }

 private:
  // Those that this process has made before; returns which are missing.
  std::vector<size_t> findKnown() {
    std::vector<size_t> missing;
    for (size_t i = 0; i < plan_.clusters.size(); ++i) {
      keys_.push_back(keyOf(plan_.clusters[i]));
      kernels_.push_back(options_.dump ? nullptr : KernelCache::instance().find(keys_[i]));
      if (!kernels_[i]) missing.push_back(i);
    }
    return missing;
  }

  // Of all that a kernel's code depends on.
  std::string keyOf(const kernel::Cluster& cluster) const {
    std::string key = kernel::structureKey(module_, cluster);
    if (options_.target != codegen::kNative) key += cat('\n', options_.target);
    if (codegenLevel(options_) != kCodegenLevel) key += cat("\nlevel ", codegenLevel(options_));
    return key;
  }

  Status make(size_t i) {
    try {
      TERCEL_ASSIGN(kernels_[i], fetch(i));
      KernelCache::instance().insert(keys_[i], kernels_[i]);
      return {};
    } catch (const CheckFailure& check) {
      return Status(Code::internal, check.message);
    } catch (const std::bad_alloc&) {
      return resourceExhausted("out of memory while generating code");
    } catch (const std::exception& exception) {
      return internalError("while generating code: ", exception.what());
    }
  }

  // From the folder of earlier processes, where there is one; else made now and kept there.
  Result<SharedKernel> fetch(size_t i) const {
    if (!store_) return generate(i);
    if (auto stored = store_->find(keys_[i]))
      return std::make_shared<const CompiledKernel>(*std::move(stored));
    TERCEL_ASSIGN(SharedKernel made, generate(i));
    store_->insert(keys_[i], *made);
    return made;
  }

  Result<SharedKernel> generate(size_t i) const {
    TERCEL_ASSIGN(kernel::Kernel lowered,
                  kernel::lower(module_, plan_.clusters[i], machineOf(target_)));
    lowered.name = symbolFor(keys_[i], plan_.names[i]);
    if (options_.dump) options_.dump(cat(lowered.name, ".kernel"), kernel::print(lowered));
    TERCEL_TRY(kernel::verify(lowered));
    return compiled(lowered, target_, codegenOptions(lowered.name));
  }

  codegen::CodegenOptions codegenOptions(const std::string& symbol) const {
    codegen::CodegenOptions options;
    options.opt_level = codegenLevel(options_);
    if (!options_.dump) return options;
    options.dump = [this, symbol](std::string_view stage, std::string_view text) {
      static std::mutex one_at_a_time;
      std::lock_guard lock(one_at_a_time);
      options_.dump(cat(symbol, ".", stage), text);
    };
    return options;
  }

  const ir::Module& module_;
  const plan::Plan& plan_;
  const codegen::Target& target_;
  const CompileOptions& options_;
  std::unique_ptr<KernelStore> store_;
  std::vector<std::string> keys_;
  std::vector<SharedKernel> kernels_;
};

// Each function once, whichever kernels call it.
void addObjects(program::Program& program, std::span<const SharedKernel> kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    program.objects.push_back(kernels[i]->object);
    program.kernels[i] = {kernels[i]->symbol, static_cast<uint32_t>(i), kernels[i]->scratch_bytes};
  }
  std::unordered_set<std::string_view> functions;
  for (const SharedKernel& kernel : kernels)
    for (const SharedFunction& function : kernel->functions)
      if (functions.insert(function->symbol).second) program.objects.push_back(function->object);
}

}  // namespace

Status generateKernels(const ir::Module& module, plan::Plan& plan, const CompileOptions& options) {
  TERCEL_ASSIGN(const codegen::Target target, codegen::Target::named(options.target));
  TERCEL_ASSIGN(const auto kernels, Generator(module, plan, target, options).run());
  program::Program& program = plan.program;
  program.architecture = target.architecture;
  program.target_cpu = target.cpu;
  program.target_features = target.features;
  addObjects(program, kernels);
  completeSteps(program, kernels);
  return Status();
}

}  // namespace tercel::compiler
