#include "compiler/compile.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "compiler/codegen/codegen.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/kernel_cache.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/plan.h"
#include "compiler/stablehlo/reader.h"

namespace tercel::compiler {
namespace {

void dumpModule(const CompileOptions& options, std::string_view stage, const ir::Module& module) {
  if (options.dump) options.dump(stage, ir::print(module, /*with_locations=*/true));
}

Result<program::Program> compileChecked(ir::Module module, const CompileOptions& options) {
  dumpModule(options, "input", module);
  TERCEL_TRY(ir::verify(module));  // what was read may be used wrongly
  passes::PipelineOptions pipeline;
  pipeline.verify = options.verify;
  if (options.dump)
    pipeline.dump = [&](std::string_view pass, const ir::Module& m) {
      dumpModule(options, pass, m);
    };
  TERCEL_TRY(passes::runPipeline(module, pipeline));
  TERCEL_ASSIGN(plan::Plan plan, plan::makePlan(module, options.can_call));
  if (options.dump) options.dump("plan", plan::print(module, plan));
  TERCEL_TRY(generateKernels(module, plan, options));
  return std::move(plan.program);
}

}  // namespace

Result<ir::Module> read(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text.substr(first).starts_with("module @") &&
      text.find("stablehlo") == text.npos)
    return ir::parse(text);
  return stablehlo::readStablehlo(bytes);
}

Result<program::Program> compileModule(ir::Module module, const CompileOptions& options) {
  try {
    return compileChecked(std::move(module), options);
  } catch (const CheckFailure& failure) {
    return Status(Code::internal, failure.message);
  } catch (const std::bad_alloc&) {
    return resourceExhausted("out of memory while compiling");
  }
}

Result<program::Program> compile(std::span<const std::byte> bytes, const CompileOptions& options) {
  try {
    TERCEL_ASSIGN(ir::Module module, read(bytes));
    return compileChecked(std::move(module), options);
  } catch (const CheckFailure& failure) {
    return Status(Code::internal, failure.message);
  } catch (const std::bad_alloc&) {
    return resourceExhausted("out of memory while compiling");
  }
}

void prepare() {
  auto work = [] {
    unsigned cores = std::thread::hardware_concurrency();
    codegen::prepare(codegen::Target::host(), static_cast<int>(std::clamp(cores, 1u, 4u)));
  };
  static std::jthread worker = [&] {
    try {
      return std::jthread(work);
    } catch (const std::system_error&) {  // no thread to be had: nothing is lost but time
      return std::jthread();
    }
  }();
}

}  // namespace tercel::compiler
