#include "pjrt/compile.h"

#include <algorithm>
#include <array>

#include "compiler/compile.h"
#include "compiler/dump.h"
#include "compiler/ir/verifier.h"
#include "core/log.h"
#include "pjrt/eval_runner.h"
#include "runtime/engine/run_once.h"
#include "runtime/engine/subnormals.h"
#include "runtime/ffi/calls.h"
#include "runtime/linalg/functions.h"

namespace tercel::pjrt {
namespace {

// The options that one program can have to itself.
constexpr auto kPerProgram = std::to_array<std::string_view>({"cpu", "dump", "eval", "check"});

std::string textOf(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  if (const auto* number = std::get_if<int64_t>(&value)) return cat(*number);
  return cat(std::get<double>(value));
}

}  // namespace

Status checkCpu(const Options& options) {
  return compiler::checkTarget(options.cpu).within(cat("option cpu = '", options.cpu, "'"));
}

// jaxlib compiles on threads of its own, whose arithmetic takes subnormal numbers as zeros.
Result<Compiled> compile(std::string_view code, const Options& options) {
  const engine::SubnormalScope scope(engine::Subnormals::keep);
  auto bytes = std::as_bytes(std::span(code.data(), code.size()));
  if (!options.eval) {
    compiler::CompileOptions compile_options;
    compile_options.target = options.cpu;
    compile_options.cache_dir = options.cache_dir;
    compile_options.can_call = [](std::string_view target) {
      return ffi::isKnownTarget(target) || linalg::find(target);
    };
    compile_options.run = engine::runOnce;
    TERCEL_ASSIGN(program::Program program,
                  compiler::compileWithDump(bytes, compile_options, options.dump));
    if (!options.check) return Compiled{std::move(program), nullptr};
    TERCEL_ASSIGN(ir::Module module, compiler::read(bytes));
    TERCEL_ASSIGN(auto runner, makeCheckRunner(std::move(module), program));
    return Compiled{std::move(program), std::move(runner)};
  }
  TERCEL_ASSIGN(ir::Module module, compiler::read(bytes));
  TERCEL_TRY(ir::verify(module));
  program::Program program = compiler::signatureOf(module);
  return Compiled{std::move(program), makeEvalRunner(std::move(module)), false};
}

Result<Options> withOverrides(Options options, const CompileOptions& given) {
  for (const auto& [name, value] : given.overrides) {
    if (name.starts_with("xla_")) {  // a program tuned for XLA still runs
      TERCEL_LOG(warning, "the compiler option ", name, " is XLA's: it changes nothing here");
      continue;
    }
    if (std::find(kPerProgram.begin(), kPerProgram.end(), name) == kPerProgram.end()) {
      return invalidArgument("No such compile option: '", name, "'");
    }
    TERCEL_TRY(setOption(options, name, textOf(value)));
  }
  TERCEL_TRY(checkCpu(options));
  return options;
}

}  // namespace tercel::pjrt
