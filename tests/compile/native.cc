#include "compile/native.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/kernel/text.h"
#include "compiler/plan/plan.h"
#include "runtime/engine/loaded_program.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::compiler {
namespace {

using eval::Literals;

constexpr size_t kFence = 64;  // bytes; keeps the alignment
constexpr std::byte kGarbage{0xa5};

// Memory between two fences.
class Fenced {
 public:
  explicit Fenced(size_t bytes) : memory_(bytes + 2 * kFence, kGarbage) {}
  void* data() { return memory_.data() + kFence; }
  size_t size() const { return memory_.size() - 2 * kFence; }
  void fill(const ir::Literal& literal) {
    if (size() > 0) std::memcpy(data(), literal.bytes().data(), size());
  }
  bool holds(const ir::Literal& literal) {
    return size() == 0 || std::memcmp(data(), literal.bytes().data(), size()) == 0;
  }
  bool intact() const {
    for (size_t i = 0; i < kFence; ++i)
      if (memory_[i] != kGarbage || memory_[memory_.size() - 1 - i] != kGarbage) return false;
    return true;
  }
  ir::Literal literal(const Shape& shape) {
    auto* begin = static_cast<const std::byte*>(data());
    return ir::Literal(shape, std::vector<std::byte>(begin, begin + size()));
  }

 private:
  program::AlignedBytes memory_;
};

enum class Donation { apart, in_place };

struct Memory {
  std::vector<Fenced> args, results;
  std::vector<void*> arg_pointers, result_pointers;
  Fenced arena;

  Memory(const program::Program& program, const Literals& values, Donation donation)
      : arena(static_cast<size_t>(program.arena_bytes)) {
    for (const auto& r : program.results)
      results.emplace_back(static_cast<size_t>(r.shape.bytes()));
    for (Fenced& r : results) result_pointers.push_back(r.data());
    for (const auto& a : program.arguments)
      args.emplace_back(static_cast<size_t>(a.shape.bytes()));
    for (size_t i = 0; i < args.size(); ++i) {
      int32_t alias = program.arguments[i].aliased_result;
      bool shared = donation == Donation::in_place && alias >= 0;
      Fenced& home = shared ? results[static_cast<size_t>(alias)] : args[i];
      home.fill(values[i]);
      arg_pointers.push_back(home.data());
    }
  }

  std::string damage(const program::Program& program, const Literals& values) {
    if (!arena.intact()) return "wrote outside of the arena";
    for (size_t i = 0; i < results.size(); ++i)
      if (!results[i].intact()) return cat("wrote outside of result ", i);
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i].intact()) return cat("wrote outside of argument ", i);
      bool may_change = program.arguments[i].aliased_result >= 0;
      if (!may_change && !args[i].holds(values[i])) return cat("argument ", i, " was overwritten");
    }
    return "";
  }
};

std::string runError(const engine::LoadedProgram& loaded, const Literals& values,
                     const Literals& wanted, Donation donation, Closeness closeness) {
  static engine::ThreadPool pool(3);
  Fenced scratch(static_cast<size_t>(loaded.scratchBytes()));  // of this thread, which takes part
  const program::Program& program = loaded.program();
  Memory memory(program, values, donation);
  engine::Invocation invocation;
  invocation.args = memory.arg_pointers.data();
  invocation.results = memory.result_pointers.data();
  invocation.arena = memory.arena.data();
  invocation.use(&pool);
  {
    engine::ScratchLoan loan(scratch.data(), scratch.size());
    if (Status status = loaded.run(invocation); !status.ok()) return status.message();
  }
  if (!scratch.intact()) return "wrote outside of a kernel's scratch memory";
  if (std::string damage = memory.damage(program, values); !damage.empty()) return damage;
  for (size_t i = 0; i < wanted.size(); ++i) {
    ir::Literal got = memory.results[i].literal(program.results[i].shape);
    std::string wrong = closeness.difference(got, wanted[i].expanded());
    if (!wrong.empty()) return cat("result ", i, " ", toString(got.shape()), ": ", wrong);
  }
  return "";
}

}  // namespace

ir::Module moduleOf(std::string_view functions) {
  auto module = ir::parse(cat("module @case {\n", functions, "\n}\n"));
  TERCEL_CHECK(module.ok(), module.status().message(), " in\n", functions);
  return std::move(*module);
}

std::string nativeError(const ir::Module& module, Numbers numbers, Closeness closeness) {
  Literals values = argumentsFor(module, numbers);
  auto wanted = eval::evaluate(module, module.main(), values);
  if (!wanted.ok()) return cat("evaluator: ", wanted.status().message());
  CompileOptions options;
  options.verify = true;
  auto program = compileModule(module, options);
  if (!program.ok()) return cat("compiler: ", program.status().message());
  auto loaded = engine::LoadedProgram::load(std::move(*program));
  if (!loaded.ok()) return cat("loader: ", loaded.status().message());
  bool donates = false;
  for (const auto& argument : (*loaded)->program().arguments)
    donates |= argument.aliased_result >= 0;
  std::string wrong = runError(**loaded, values, *wanted, Donation::apart, closeness);
  if (!wrong.empty() || !donates) return wrong;
  wrong = runError(**loaded, values, *wanted, Donation::in_place, closeness);
  return wrong.empty() ? "" : "donated: " + wrong;
}

void expectNative(std::string_view functions, Numbers numbers, Closeness closeness) {
  try {
    ir::Module module = moduleOf(functions);
    Status status = ir::verify(module);
    ASSERT_TRUE(status.ok()) << status.message() << " in\n" << functions;
    std::string wrong = nativeError(module, numbers, closeness);
    EXPECT_EQ(wrong, "") << functions;
  } catch (const CheckFailure& failure) {
    ADD_FAILURE() << failure.message << "\n" << functions;
  }
}

int64_t countInKernel(const ir::Module& module, std::string_view what,
                      const kernel::Machine& machine) {
  Result<plan::Plan> plan = plan::makePlan(module);
  TERCEL_CHECK(plan.ok(), plan.status().message());
  Result<kernel::Kernel> lowered = kernel::lower(module, plan->clusters[0], machine);
  TERCEL_CHECK(lowered.ok(), lowered.status().message());
  const std::string text = kernel::print(*lowered);
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace tercel::compiler
