// tercel-reduce: a program that fails -> a small one that fails in the same way, as text.
#include <cstdio>
#include <span>

#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "program/files.h"
#include "tools/command_line.h"
#include "tools/failure.h"
#include "tools/reducer.h"

namespace tercel::tools {
namespace {

constexpr char kUsage[] = R"(usage: tercel-reduce [FLAG...] FILE    (- is standard input)

FILE is a StableHLO portable artifact or a module in our text form. What is wrong with it stays so:
native code and the evaluator differ, or it is refused, or the process dies or hangs.

  --error=TEXT    it is refused with a message that contains TEXT (else: any error)
  --pass=NAME     the evaluator's results before and after this pass differ, in place of native code
  --seed=N        of the made-up arguments
  --special       NaN, infinities, zeros of both signs and the like among them
  --seconds=N     for a trial, before it counts as hung (20)
  --output=FILE   in place of standard output
)";

struct Request {
  std::string file, error, output;
  Trial trial;
};

Result<Request> parse(CommandLine& line) {
  Request request;
  request.error = line.value("error");
  request.output = line.value("output");
  request.trial.pass = line.value("pass");
  request.trial.special = line.flag("special");
  TERCEL_ASSIGN(request.trial.seed, line.number("seed", 0));
  TERCEL_ASSIGN(request.trial.seconds, line.number("seconds", request.trial.seconds));
  TERCEL_TRY(line.unknownFlag());
  if (line.words().size() != 1) return invalidArgument("name one file; see --help");
  request.file = line.words()[0];
  return request;
}

Status write(const std::string& text, const std::string& path) {
  if (path.empty()) return std::fputs(text.c_str(), stdout), Status();
  return program::writeFile(path, std::as_bytes(std::span(text)));
}

Status run(CommandLine line) {
  if (line.flag("help")) return std::fputs(kUsage, stdout), Status();
  TERCEL_ASSIGN(Request request, parse(line));
  TERCEL_ASSIGN(std::vector<std::byte> bytes, readFile(request.file));
  TERCEL_ASSIGN(ir::Module module, compiler::read(bytes));
  TERCEL_TRY(ir::verify(module));
  const Failure wanted = failureOf(module, request.trial);
  auto isSame = [&](const Failure& failure) {
    return failure.kind == wanted.kind && failure.message.find(request.error) != std::string::npos;
  };
  if (wanted.kind == Failure::Kind::none) return invalidArgument("nothing is wrong with this one");
  if (!isSame(wanted)) return invalidArgument("it fails in another way: ", wanted.message);
  std::fprintf(stderr, "%s\n", wanted.message.c_str());
  int64_t trials = 0;
  module = reduce(std::move(module), [&](const ir::Module& smaller) {
    ++trials;
    return isSame(failureOf(smaller, request.trial));
  });
  std::fprintf(stderr, "%lld trials; now: %s\n", static_cast<long long>(trials),
               failureOf(module, request.trial).message.c_str());
  return write(ir::print(module), request.output);
}

}  // namespace
}  // namespace tercel::tools

int main(int argc, char** argv) {
  using namespace tercel;
  return tools::runTool("tercel-reduce", tools::run, tools::CommandLine(argc, argv));
}
