// tercel-run: a program on native code, on the evaluator, or on both and compared.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include "compiler/dump.h"
#include "compiler/eval/evaluator.h"
#include "compiler/ir/verifier.h"
#include "core/layout.h"
#include "program/artifact.h"
#include "program/files.h"
#include "program/format.h"
#include "tools/command_line.h"
#include "tools/execution.h"
#include "tools/exported_file.h"
#include "tools/open_sizes.h"
#include "tools/program_input.h"
#include "tools/run_artifact.h"

namespace tercel::tools {
namespace {

constexpr char kUsage[] = R"(usage: tercel-run [FLAG...] FILE    (- is standard input)

FILE is a StableHLO portable artifact, what jax.export wrote for cpu, alone or among others, a module in our text form, or
a saved Program.

  --native         run native code only
  --eval           run the evaluator only
                   (without either: native code, and the evaluator where it knows all of the
                   program; fails where they differ)
  --input=FILE     the next argument, a .npy file or its bare elements; the rest is made up
  --seed=N         of the made-up arguments
  --size=NAME=N    of a symbolic dimension of a jax.export file
  --shape=ARGUMENT=DIMS
                   of an argument whose dimensions are open, as argument0=8x4
  --threads=N      of native code, the caller's included; 0: all cores
  --repeat=N       run native code N times and print the least time
  --compile-only   do not run
  --save=FILE      write the compiled Program
  --dump=FOLDER    write every stage of the compilation below this folder

FILE may also be an artifact that tercel.aot saved. Without --procedure, what it has is listed.

  --procedure=NAME         call this one (with its signature: predict_batch8)
  --input=ARGUMENT=FILE    an argument; the rest is made up
  --expect=RESULT=FILE     what a result must be
  --weights=FILE           its side file
  --seed, --threads (what it was saved with), --repeat as above
)";

struct Request {
  std::vector<std::byte> bytes;
  SizeFlags sizes;
  compiler::GivenArguments given;
  bool native = true, eval = true, compile_only = false;
  bool eval_if_possible = false;  // where nobody asked for it by name
  std::vector<std::string> inputs;
  int64_t seed = 0, threads = 0, repeat = 1;
  std::string save, dump;
};

Result<Request> parse(CommandLine& line) {
  Request request;
  bool native = line.flag("native"), eval = line.flag("eval");
  request.native = native || !eval;
  request.eval = eval || !native;
  request.eval_if_possible = !eval && !native;
  request.compile_only = line.flag("compile-only");
  request.inputs = line.values("input");
  request.sizes = sizeFlags(line);
  request.save = line.value("save");
  request.dump = line.value("dump");
  TERCEL_ASSIGN(request.seed, line.number("seed", 0));
  TERCEL_ASSIGN(request.threads, line.number("threads", 0, 0));
  TERCEL_ASSIGN(request.repeat, line.number("repeat", 1, 1));
  TERCEL_TRY(line.unknownFlag());
  return request;
}

// Of the arguments, as they lie in memory.
std::vector<Shape> shapesOf(const ir::Module& module) {
  std::vector<Shape> shapes;
  for (ir::Value v : module.region(module.main().body).args) shapes.push_back(module.shape(v));
  return shapes;
}

std::vector<Shape> shapesOf(const program::Program& program) {
  std::vector<Shape> shapes;
  for (const auto& argument : program.arguments)
    shapes.push_back(ArrayType(argument.shape, argument.layout).inMemory());
  return shapes;
}

Result<eval::Literals> argumentsFor(const std::vector<Shape>& shapes, const Request& request) {
  if (request.inputs.size() > shapes.size())
    return invalidArgument("the program takes ", shapes.size(), " arguments");
  eval::Literals arguments;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i];
    if (i < request.inputs.size()) {
      TERCEL_ASSIGN(ir::Literal given, readInput(request.inputs[i], shape));
      arguments.push_back(std::move(given));
    } else {
      arguments.push_back(makeInput(shape, static_cast<uint64_t>(request.seed) + i));
    }
  }
  return arguments;
}

Result<program::Program> programOf(const Request& request) {
  if (program::isProgram(request.bytes)) return program::deserialize(request.bytes);
  auto begin = std::chrono::steady_clock::now();
  compiler::CompileOptions options;
  options.verify = true;
  options.given = request.given;
  TERCEL_ASSIGN(program::Program program,
                compiler::compileWithDump(request.bytes, options, request.dump));
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("compiled: %.3f ms, %zu kernels, arena of %lld bytes\n", took.count(),
              program.kernels.size(), static_cast<long long>(program.arena_bytes));
  return program;
}

void printResults(const eval::Literals& results) {
  for (size_t i = 0; i < results.size(); ++i)
    std::printf("result %zu: %s\n", i, summary(results[i]).c_str());
}

Result<ArtifactRequest> parseArtifactRequest(CommandLine& line) {
  ArtifactRequest request;
  request.procedure = line.value("procedure");
  request.inputs = line.values("input");
  request.expects = line.values("expect");
  request.weights = line.value("weights");
  TERCEL_ASSIGN(request.seed, line.number("seed", 0));
  TERCEL_ASSIGN(request.threads, line.number("threads", 0, 0));
  TERCEL_ASSIGN(request.repeat, line.number("repeat", 1, 1));
  TERCEL_TRY(line.unknownFlag());
  return request;
}

Status takeFile(std::vector<std::byte> file, Request& request) {
  TERCEL_ASSIGN(ExportedFile exported, readExported(std::move(file)));
  TERCEL_ASSIGN(const auto signatures, signaturesOf(exported.arguments, request.sizes));
  if (signatures.size() != 1) return invalidArgument("give one size or shape: it runs once");
  request.bytes = std::move(exported.module);
  request.given = {signatures[0].dims, exported.platform};
  return Status();
}

Status run(CommandLine line) {
  if (line.flag("help")) return std::fputs(kUsage, stdout), Status();
  if (line.words().size() != 1) return invalidArgument("name one file; see --help");
  TERCEL_ASSIGN(std::vector<std::byte> file, readFile(line.words()[0]));
  if (program::isArtifact(file)) {
    TERCEL_ASSIGN(const ArtifactRequest request, parseArtifactRequest(line));
    return runArtifact(file, request);
  }
  TERCEL_ASSIGN(Request request, parse(line));
  TERCEL_TRY(takeFile(std::move(file), request));
  std::optional<program::Program> program;
  std::optional<ir::Module> module;
  if (request.native) {
    TERCEL_ASSIGN(program, programOf(request));
    if (!request.save.empty())
      TERCEL_TRY(program::writeFile(request.save, program::serialize(*program)));
  }
  if (request.eval && !program::isProgram(request.bytes)) {
    TERCEL_ASSIGN(module, compiler::read(request.bytes, request.given));
    TERCEL_TRY(ir::verify(*module));
  }
  if (request.compile_only) return {};
  if (!program && !module) return invalidArgument("a saved Program runs on native code only");

  TERCEL_ASSIGN(eval::Literals arguments,
                argumentsFor(module ? shapesOf(*module) : shapesOf(*program), request));
  eval::Literals native, evaluated;
  if (program) {
    Runs runs{.threads = request.threads, .count = request.repeat};
    TERCEL_ASSIGN(native, runNative(std::move(*program), arguments, runs));
    std::printf("native: %.4f ms\n", runs.least);
    printResults(native);
  }
  if (module) {
    auto results = eval::evaluate(*module, module->main(), arguments);
    if (results.status().code() == Code::unimplemented && request.eval_if_possible) {
      std::printf("not compared with the evaluator: %s\n", results.status().message().c_str());
      return {};
    }
    TERCEL_ASSIGN(evaluated, std::move(results));
    if (!program) printResults(evaluated);
  }
  if (!program || !module) return {};
  TERCEL_TRY(compare(native, evaluated));
  std::printf("native code and the evaluator agree on %zu results\n", evaluated.size());
  return {};
}

}  // namespace
}  // namespace tercel::tools

int main(int argc, char** argv) {
  using namespace tercel;
  return tools::runTool("tercel-run", tools::run, tools::CommandLine(argc, argv));
}
