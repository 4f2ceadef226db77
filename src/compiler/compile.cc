#include "compiler/compile.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "compiler/codegen/codegen.h"
#include "compiler/generate_kernels.h"
#include "compiler/ir/layout_modes.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/prepare.h"
#include "compiler/plan/signature.h"
#include "compiler/plan/work.h"
#include "compiler/stablehlo/reader.h"
#include "core/log.h"

namespace tercel::compiler {
namespace {

void dumpModule(const CompileOptions& options, std::string_view stage, const ir::Module& module) {
  if (options.dump) options.dump(stage, ir::print(module, /*with_locations=*/true));
}

Result<program::Program> compileChecked(ir::Module module, const CompileOptions& options);

Result<std::vector<ir::Literal>> computed(ir::Module module, const CompileOptions& options) {
  CompileOptions of_module = options;
  of_module.run = {};
  of_module.dump = {};
  TERCEL_ASSIGN(program::Program program, compileChecked(std::move(module), of_module));
  std::vector<Shape> shapes;
  for (const program::ResultInfo& result : program.results) shapes.push_back(result.shape);
  TERCEL_ASSIGN(auto results, options.run(std::move(program)));
  std::vector<ir::Literal> literals;
  for (size_t i = 0; i < shapes.size(); ++i)
    literals.emplace_back(shapes[i], std::move(results[i]));
  return literals;
}

Result<program::Program> compileChecked(ir::Module module, const CompileOptions& options) {
  dumpModule(options, "input", module);
  TERCEL_TRY(ir::verify(module));  // what was read may be used wrongly
  passes::PipelineOptions pipeline;
  pipeline.verify = options.verify;
  pipeline.level = options.optimization_level;
  if (options.dump)
    pipeline.dump = [&](std::string_view pass, const ir::Module& m) {
      dumpModule(options, pass, m);
    };
  if (options.run)
    pipeline.compute = [&](ir::Module m) { return computed(std::move(m), options); };
  TERCEL_TRY(passes::runPipeline(module, pipeline));
  TERCEL_TRY(plan::prepare(module, [&](std::string_view rewriting) {
    dumpModule(options, rewriting, module);
  }));
  if (options.verify) TERCEL_TRY(ir::verify(module));
  TERCEL_ASSIGN(plan::Plan plan, plan::makePlan(module, options.can_call));
  plan::estimateWork(module, plan.program);
  if (options.dump) options.dump("plan", plan::print(module, plan));
  TERCEL_TRY(generateKernels(module, plan, options));
  return std::move(plan.program);
}

}  // namespace

Result<ir::Module> readRowMajor(std::span<const std::byte> bytes, const GivenArguments& given) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text.substr(first).starts_with("module @") &&
      text.find("stablehlo") == text.npos)
    return ir::parse(text);
  return stablehlo::readStablehlo(bytes, given);
}

Result<ir::Module> read(std::span<const std::byte> bytes, const GivenArguments& given) {
  TERCEL_ASSIGN(ir::Module module, readRowMajor(bytes, given));
  TERCEL_TRY(ir::applyLayoutModes(module));
  return module;
}

program::Program signatureOf(const ir::Module& module) {
  program::Program program;
  plan::describeSignature(module, program);
  program.sequences.emplace_back();
  return program;
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
    TERCEL_ASSIGN(ir::Module module, read(bytes, options.given));
    return compileChecked(std::move(module), options);
  } catch (const CheckFailure& failure) {
    return Status(Code::internal, failure.message);
  } catch (const std::bad_alloc&) {
    return resourceExhausted("out of memory while compiling");
  }
}

Status checkTarget(const std::string& name) {
  TERCEL_ASSIGN(const codegen::Target target, codegen::Target::named(name));
  return target.checkHost();
}

namespace {

// A product and what may follow it: of LLVM and of the passes it runs most of what programs need.
constexpr std::string_view kFirstProgram = R"(module @first {
  func @main(%x: f32[24,40], %y: f32[40,24]) -> (f32[24,24]) {
    %p = dot_general(%x, %y) {lhs_batching_dimensions = [], rhs_batching_dimensions = [],
        lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[24,24]
    %s = sine(%p) : f32[24,24]
    %e = exponential(%s) : f32[24,24]
    return %e
  }
})";

// What the first compilation of a process would otherwise wait for: code generators, their code in
// memory, functions that kernels share.
void warmUp(const std::stop_token& stop, const CompileOptions& options) {
  unsigned cores = std::thread::hardware_concurrency();
  Result<codegen::Target> target = codegen::Target::named(options.target);
  if (target.ok()) codegen::prepare(*target, static_cast<int>(std::clamp(cores, 1u, 4u)));
  if (stop.stop_requested()) return;
  Result<program::Program> program = compile(std::as_bytes(std::span(kFirstProgram)), options);
  if (!program.ok()) TERCEL_LOG(warning, "the first program: ", program.status().message());
}

class WarmUp {
 public:
  explicit WarmUp(const CompileOptions& options) {
    try {
      thread_ = std::jthread(warmUp, options);
    } catch (const std::system_error&) {  // no thread to be had: nothing is lost but time
    }
  }
  ~WarmUp() {
    if (process_ != getpid()) new std::jthread(std::move(thread_));  // neither joined nor let go
  }

 private:
  const pid_t process_ = getpid();  // one that fork() made does not have the thread
  std::jthread thread_;
};

}  // namespace

void prepare(const CompileOptions& options) { static const WarmUp warm_up(options); }

}  // namespace tercel::compiler
