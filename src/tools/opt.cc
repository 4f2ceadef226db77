// tercel-opt: a program -> passes -> text. The input is a portable artifact or our text form.
#include <cstdio>

#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/recognise.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/prepare.h"
#include "tools/command_line.h"
#include "tools/execution.h"

namespace tercel::tools {
namespace {

constexpr char kUsage[] = R"(usage: tercel-opt [FLAG...] FILE    (- is standard input)

  --pass=NAME     run this pass, any number of them in order; without: the whole pipeline
  --disable=NAME  leave a pass out of the pipeline
  --none          run no pass: read, verify and print
  --plan          print the plan in place of the module: what is fused, where values live, the steps
  --locations     print where in the Python program each op came from
  --expansion     print the row of passes/expansions.def that stands for the program
  --verify        verify after each pass
  --dump          print the module after each pass that changed it, to stderr
  --time          print what each pass took, to stderr
  --list          list the passes
)";

passes::PipelineOptions pipelineOptions(CommandLine& line) {
  passes::PipelineOptions options;
  options.verify = line.flag("verify");
  options.disabled = line.values("disable");
  options.compute = [](ir::Module module) -> Result<eval::Literals> {
    TERCEL_ASSIGN(program::Program program, compiler::compileModule(std::move(module), {}));
    Runs once;
    return runNative(std::move(program), {}, once);
  };
  if (line.flag("dump"))
    options.dump = [](std::string_view pass, const ir::Module& module) {
      std::fprintf(stderr, "// after %.*s\n%s\n", static_cast<int>(pass.size()), pass.data(),
                   ir::print(module).c_str());
    };
  if (line.flag("time"))
    options.timed = [](const passes::PassTime& time) {
      std::fprintf(stderr, "%-14.*s %8.3f ms%s\n", static_cast<int>(time.pass.size()),
                   time.pass.data(), time.milliseconds, time.changed ? "" : "  (no change)");
    };
  return options;
}

Status run(CommandLine line) {
  if (line.flag("help")) return std::fputs(kUsage, stdout), Status();
  if (line.flag("list")) {
    for (std::string_view name : passes::passNames())
      std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
    return {};
  }
  passes::PipelineOptions options = pipelineOptions(line);
  std::vector<std::string> chosen = line.values("pass");
  bool none = line.flag("none"), plan = line.flag("plan"), locations = line.flag("locations");
  bool expansion = line.flag("expansion");
  TERCEL_TRY(line.unknownFlag());
  if (line.words().size() != 1) return invalidArgument("name one file; see --help");

  TERCEL_ASSIGN(std::vector<std::byte> bytes, readFile(line.words()[0]));
  TERCEL_ASSIGN(ir::Module module, compiler::read(bytes));
  TERCEL_TRY(ir::verify(module));
  for (const std::string& name : chosen) TERCEL_TRY(passes::runPass(name, module, options));
  if (expansion) return std::puts(passes::expansionRow(module).c_str()), Status();
  if (chosen.empty() && !none) TERCEL_TRY(passes::runPipeline(module, options));
  if (plan) {
    TERCEL_TRY(plan::prepare(module));
    TERCEL_ASSIGN(plan::Plan made, plan::makePlan(module));
    std::fputs(plan::print(module, made).c_str(), stdout);
  } else {
    std::fputs(ir::print(module, locations).c_str(), stdout);
  }
  return {};
}

}  // namespace
}  // namespace tercel::tools

int main(int argc, char** argv) {
  using namespace tercel;
  return tools::runTool("tercel-opt", tools::run, tools::CommandLine(argc, argv));
}
