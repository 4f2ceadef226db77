#include "compiler/kernel_cache.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "compiler/codegen/codegen.h"
#include "compiler/compiled_kernel.h"
#include "compiler/kernel/nest.h"
#include "compiler/kernel/text.h"
#include "compiler/kernel/verifier.h"
#include "compiler/kernel_store.h"

namespace tercel::compiler {
namespace {

using Shared = std::shared_ptr<const CompiledKernel>;

// Least recently used kernels leave when the object code exceeds the limit.
class KernelCache {
 public:
  Shared find(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto at = entries_.find(key);
    if (at == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return at->second->second;
  }

  void insert(const std::string& key, Shared kernel) {
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

 private:
  static constexpr size_t kLimit = size_t{256} << 20;
  using Order = std::list<std::pair<std::string, Shared>>;
  std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, Order::iterator> entries_;
  size_t bytes_ = 0;
};

KernelCache& cache() {
  static auto* instance = new KernelCache;
  return *instance;
}

// The functions of this process's kernels; there are few.
class FunctionCache {
 public:
  static FunctionCache& instance() {
    static auto* cache = new FunctionCache;
    return *cache;
  }

  // Whether all of the kernel's functions are there.
  bool hasAll(const kernel::Kernel& kernel, const codegen::Target& target,
              const codegen::CodegenOptions& options) {
    std::lock_guard lock(mutex_);
    return std::ranges::all_of(kernel.functions, [&](const kernel::Function& function) {
      return entries_.contains(keyOf(function, target, options));
    });
  }

  // Who else wants the same function waits for who compiles it.
  Result<std::shared_ptr<const CompiledFunction>> get(const kernel::Kernel& kernel,
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

 private:
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const CompiledFunction> compiled;
  };
  static std::string keyOf(const kernel::Function& function, const codegen::Target& target,
                           const codegen::CodegenOptions& options) {
    return cat(function.name, '\n', toString(target.architecture), target.cpu, target.features,
               '\n', options.opt_level);
  }
  Entry& entryOf(const std::string& key) {
    std::lock_guard lock(mutex_);
    return entries_[key];
  }
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

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

using Functions = decltype(CompiledKernel::functions);

Result<Functions> functionsOf(const kernel::Kernel& kernel, const codegen::Target& target,
                              const codegen::CodegenOptions& options) {
  Functions functions;
  for (kernel::FunctionId f = 0; f < kernel.functions.size(); ++f) {
    TERCEL_ASSIGN(auto function, FunctionCache::instance().get(kernel, f, target, options));
    functions.push_back(std::move(function));
  }
  return functions;
}

Result<Shared> generate(const ir::Module& module, const kernel::Cluster& cluster,
                        const std::string& key, const std::string& name,
                        const codegen::Target& target, const CompileOptions& options) {
  TERCEL_ASSIGN(kernel::Kernel lowered, kernel::lower(module, cluster, machineOf(target)));
  lowered.name = symbolFor(key, name);
  if (options.dump) options.dump(cat(lowered.name, ".kernel"), kernel::print(lowered));
  TERCEL_TRY(kernel::verify(lowered));
  codegen::CodegenOptions codegen_options;
  codegen_options.opt_level = codegenLevel(options);
  if (options.dump) {
    static std::mutex one_at_a_time;
    codegen_options.dump = [&](std::string_view stage, std::string_view text) {
      std::lock_guard lock(one_at_a_time);
      options.dump(cat(lowered.name, ".", stage), text);
    };
  }
  const kernel::Kernel* kernels[] = {&lowered};
  bool known = FunctionCache::instance().hasAll(lowered, target, codegen_options);
  auto functions = std::async(known ? std::launch::deferred
                                    : std::launch::async | std::launch::deferred,
                              [&] { return functionsOf(lowered, target, codegen_options); });
  TERCEL_ASSIGN(codegen::ObjectCode object,
                codegen::compileKernels(kernels, target, codegen_options));
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->object = std::move(object.bytes);
  TERCEL_ASSIGN(compiled->functions, functions.get());
  compiled->symbol = lowered.name;
  compiled->scratch_bytes = lowered.scratch_bytes;
  compiled->tasks = lowered.tasks;
  compiled->cost = lowered.cost;
  return Shared(std::move(compiled));
}

// From the folder of earlier processes, where there is one; else made now and kept there.
Result<Shared> fetch(const ir::Module& module, const kernel::Cluster& cluster,
                     const std::string& key, const std::string& name,
                     const codegen::Target& target, const CompileOptions& options,
                     const KernelStore* store) {
  if (!store) return generate(module, cluster, key, name, target, options);
  if (auto stored = store->find(key)) return std::make_shared<const CompiledKernel>(*stored);
  TERCEL_ASSIGN(Shared made, generate(module, cluster, key, name, target, options));
  store->insert(key, *made);
  return made;
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

constexpr double kInlineCost = 10e3;  // ns: below, waking a thread costs more than it saves

// Nanoseconds; none where a donated argument already lies where it is wanted.
double copyCost(const program::Program& program, const program::Step& step) {
  const program::Slot &from = program.slots[step.slots[0]], &to = program.slots[step.slots[1]];
  if (from.place == program::Place::argument && to.place == program::Place::result &&
      program.arguments[from.index].aliased_result == static_cast<int32_t>(to.index))
    return 0;
  return kernel::memoryCost(static_cast<double>(to.bytes));
}

// Of the kernels and copies of a sequence. How often a loop of steps turns is not known.
double costOf(const program::Program& program, uint32_t sequence) {
  constexpr double kTurns = 100;
  double cost = 0;
  for (const program::Step& step : program.sequences[sequence]) {
    double inside = 0;
    for (uint32_t inner : step.sequences) inside += costOf(program, inner);
    const bool is_loop = step.kind == program::StepKind::while_loop;
    const bool is_parallel = step.kind == program::StepKind::parallel_loop;
    if (is_loop) inside += costOf(program, step.target);
    if (step.kind == program::StepKind::kernel) cost += step.cost;
    if (step.kind == program::StepKind::copy) cost += copyCost(program, step);
    cost += inside * (is_loop ? kTurns : is_parallel ? static_cast<double>(step.tasks) : 1);
  }
  return cost;
}

// What a step makes of nothing for one thread to go over, as a scatter does, is made by one too:
// what another has in its cache takes longer to fetch than to make.
void fillWhereUsed(program::Sequence& sequence) {
  for (size_t i = 0; i < sequence.size(); ++i) {
    program::Step& fill = sequence[i];
    if (fill.kind != program::StepKind::kernel || fill.slots.size() != 1) continue;
    if (fill.grain >= fill.tasks) continue;
    const auto user = std::find_if(
        sequence.begin() + static_cast<ptrdiff_t>(i) + 1, sequence.end(), [&](const auto& step) {
          return std::ranges::find(step.slots, fill.slots[0]) != step.slots.end();
        });
    if (user != sequence.end() && user->kind == program::StepKind::kernel && user->tasks == 1)
      fill.grain = fill.tasks;
  }
}

void completeSteps(program::Program& program, const std::vector<Shared>& kernels) {
  for (program::Sequence& sequence : program.sequences) {
    for (program::Step& step : sequence) {
      if (step.kind != program::StepKind::kernel) continue;
      const CompiledKernel& kernel = *kernels[step.target];
      step.tasks = kernel.tasks;
      step.cost = kernel.cost;
      step.grain = kernel.cost < kInlineCost
                       ? std::max<int64_t>(1, kernel.tasks)
                       : std::max<int64_t>(1, static_cast<int64_t>(
                             static_cast<double>(kernel.tasks) * kInlineCost / 2 / kernel.cost));
    }
    fillWhereUsed(sequence);
  }
  program.cost += costOf(program, 0);
}

}  // namespace

Status generateKernels(const ir::Module& module, plan::Plan& plan, const CompileOptions& options) {
  TERCEL_ASSIGN(const codegen::Target target, codegen::Target::named(options.target));
  const bool is_native = options.target == codegen::kNative;
  size_t count = plan.clusters.size();
  std::vector<Shared> kernels(count);
  std::vector<std::string> keys(count);
  std::vector<size_t> missing;
  for (size_t i = 0; i < count; ++i) {
    keys[i] = kernel::structureKey(module, plan.clusters[i]);
    if (!is_native) keys[i] += cat('\n', options.target);
    if (codegenLevel(options) != kCodegenLevel) keys[i] += cat("\nlevel ", codegenLevel(options));
    kernels[i] = options.dump ? nullptr : cache().find(keys[i]);
    if (!kernels[i]) missing.push_back(i);
  }
  std::unique_ptr<KernelStore> store;
  if (!missing.empty() && !options.cache_dir.empty() && !options.dump) {
    store = KernelStore::open(options.cache_dir, target);
  }
  std::mutex mutex;
  Status failure;
  inParallel(missing.size(), [&](size_t m) {
    size_t i = missing[m];
    Status status;
    try {
      Result<Shared> made =
          fetch(module, plan.clusters[i], keys[i], plan.names[i], target, options, store.get());
      if (made.ok()) {
        kernels[i] = *made;
        cache().insert(keys[i], *made);
        return;
      }
      status = made.status();
    } catch (const CheckFailure& check) {
      status = Status(Code::internal, check.message);
    } catch (const std::bad_alloc&) {
      status = resourceExhausted("out of memory while generating code");
    } catch (const std::exception& exception) {
      status = internalError("while generating code: ", exception.what());
    }
    std::lock_guard lock(mutex);
    if (failure.ok()) failure = status.within(plan.names[i]);
  });
  TERCEL_TRY(failure);
  program::Program& program = plan.program;
  program.architecture = target.architecture;
  program.target_cpu = target.cpu;
  program.target_features = target.features;
  for (size_t i = 0; i < count; ++i) {
    program.objects.push_back(kernels[i]->object);
    program.kernels[i] = {kernels[i]->symbol, static_cast<uint32_t>(i),
                          kernels[i]->scratch_bytes};
  }
  std::unordered_set<std::string_view> functions;
  for (const Shared& kernel : kernels)
    for (const auto& function : kernel->functions)
      if (functions.insert(function->symbol).second) program.objects.push_back(function->object);
  completeSteps(program, kernels);
  return Status();
}

}  // namespace tercel::compiler
