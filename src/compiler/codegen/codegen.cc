#include "compiler/codegen/codegen.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <mutex>

#include "compiler/codegen/emitter.h"
#include "compiler/codegen/machine.h"
#include "compiler/kernel/builder.h"
#include "compiler/kernel/verifier.h"

namespace tercel::codegen {
namespace {

// Collects what LLVM reports instead of printing it.
struct Diagnostics : llvm::DiagnosticHandler {
  std::string* errors;
  explicit Diagnostics(std::string* errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
};

// What a call needs and the next one can use again. A context holds every type and constant it
// ever made, so it is renewed now and then.
struct Workshop {
  static constexpr int kModulesPerContext = 1000;
  std::unique_ptr<llvm::LLVMContext> context;
  int modules = 0;
  std::string errors;
  std::vector<std::unique_ptr<Machine>> machines;

  llvm::LLVMContext& freshContext() {
    if (!context || ++modules > kModulesPerContext) {
      context = std::make_unique<llvm::LLVMContext>();
      context->setDiagnosticHandler(std::make_unique<Diagnostics>(&errors));
      context->setDiscardValueNames(true);
      modules = 0;
    }
    errors.clear();
    return *context;
  }

  Machine& machine(const Target& target, const CodegenOptions& options, Selection selection) {
    for (auto& machine : machines)
      if (machine->serves(target, options, selection)) return *machine;
    machines.push_back(std::make_unique<Machine>(target, options, Output::object, selection));
    return *machines.back();
  }
};

// Idle workshops. They belong to no thread: callers start threads for one compilation, and a new
// workshop costs more than the kernel.
class WorkshopPool {
 public:
  static WorkshopPool& instance() {
    static auto* pool = new WorkshopPool;
    return *pool;
  }
  std::unique_ptr<Workshop> take() {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Workshop>();
    std::unique_ptr<Workshop> workshop = std::move(idle_.back());
    idle_.pop_back();
    return workshop;
  }
  void giveBack(std::unique_ptr<Workshop> workshop) {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workshop));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workshop>> idle_;
};

using Kernels = std::span<const kernel::Kernel* const>;

// Writes what is to be compiled into a module, for the machine that compiles it; false where that
// cannot.
using Emit = std::function<bool(Machine&, llvm::Module&)>;

bool dump(const Emit& emit, const Target& target, const CodegenOptions& options,
          Selection selection) {
  llvm::LLVMContext context;
  Machine machine(target, options, Output::assembly, selection);
  std::unique_ptr<llvm::Module> module = machine.newModule(context);
  if (!emit(machine, *module)) return false;
  if (selection == Selection::llvm) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, nullptr);
    options.dump("llvm", text);
  }
  options.dump("asm", std::string_view(machine.run(*module)));
  return true;
}

// Nothing where the machine cannot compile it.
Result<std::vector<std::byte>> compile(const Emit& emit, const Target& target,
                                       const CodegenOptions& options, Selection selection) {
  if (options.dump && !dump(emit, target, options, selection)) return std::vector<std::byte>();
  std::unique_ptr<Workshop> shop = WorkshopPool::instance().take();
  llvm::LLVMContext& context = shop->freshContext();
  Machine& machine = shop->machine(target, options, selection);
  std::unique_ptr<llvm::Module> module = machine.newModule(context);
  std::vector<std::byte> code;
  if (emit(machine, *module)) {
    if (options.verify) {
      std::string problems;
      llvm::raw_string_ostream stream(problems);
      bool broken = llvm::verifyModule(*module, &stream);
      if (broken) return internalError("LLVM refuses the code of a kernel: ", problems);
    }
    llvm::StringRef object = machine.run(*module);
    if (!shop->errors.empty()) return internalError("LLVM: ", shop->errors);
    const auto* bytes = reinterpret_cast<const std::byte*>(object.data());
    code.assign(bytes, bytes + object.size());
  }
  module.reset();  // before its context can be another caller's
  WorkshopPool::instance().giveBack(std::move(shop));
  return code;
}

Result<std::vector<std::byte>> compileAll(Kernels kernels, const Target& target,
                                          const CodegenOptions& options) {
  if (target.has_level4) {
    auto select = [&](Machine& machine, llvm::Module& module) {
      return std::ranges::all_of(
          kernels, [&](const kernel::Kernel* kernel) { return machine.select(*kernel, module); });
    };
    TERCEL_ASSIGN(std::vector<std::byte> code, compile(select, target, options, Selection::own));
    if (!code.empty()) return code;
  }
  auto emit = [&](Machine&, llvm::Module& module) {
    for (const kernel::Kernel* kernel : kernels) Emitter(module, target, *kernel).emitKernel();
    return true;
  };
  return compile(emit, target, options, Selection::llvm);
}

}  // namespace

Result<ObjectCode> compileKernels(Kernels kernels, const Target& target,
                                  const CodegenOptions& options) {
  if (options.verify)
    for (const kernel::Kernel* kernel : kernels) TERCEL_TRY(kernel::verify(*kernel));
  ObjectCode code;
  TERCEL_ASSIGN(code.bytes, compileAll(kernels, target, options));
  for (const kernel::Kernel* kernel : kernels) code.symbols.push_back(kernel->name);
  return code;
}

Result<ObjectCode> compileFunction(const kernel::Kernel& kernel, kernel::FunctionId function,
                                   const Target& target, const CodegenOptions& options) {
  const std::string& name = kernel.functions[function].name;
  ObjectCode code{.symbols = {name}};
  CodegenOptions own = options;
  if (options.dump)
    own.dump = [&](std::string_view stage, std::string_view text) {
      options.dump(cat(name, '.', stage), text);
    };
  auto emit = [&](Machine&, llvm::Module& module) {
    Emitter(module, target, kernel).emitFunction(function);
    return true;
  };
  TERCEL_ASSIGN(code.bytes, compile(emit, target, own, Selection::llvm));
  return code;
}

void prepare(const Target& target, int calls) {
  // An empty kernel also initialises what LLVM does on first use.
  kernel::Kernel empty{.name = "prepare"};
  kernel::Builder builder(empty);
  std::vector<std::unique_ptr<Workshop>> made;
  for (int i = 0; i < calls; ++i) {
    std::unique_ptr<Workshop> shop = WorkshopPool::instance().take();
    for (Selection selection : {Selection::own, Selection::llvm}) {
      if (selection == Selection::own && !target.has_level4) continue;
      Machine& machine = shop->machine(target, {}, selection);
      std::unique_ptr<llvm::Module> module = machine.newModule(shop->freshContext());
      if (selection == Selection::llvm) Emitter(*module, target, empty).emitKernel();
      if (selection == Selection::llvm || machine.select(empty, *module)) machine.run(*module);
    }
    made.push_back(std::move(shop));
  }
  for (auto& shop : made) WorkshopPool::instance().giveBack(std::move(shop));
}

}  // namespace tercel::codegen
