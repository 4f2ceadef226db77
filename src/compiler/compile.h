// bytes -> Program: the whole compiler behind one call.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/stablehlo/reader.h"
#include "core/status.h"
#include "program/program.h"

namespace tercel::compiler {

using stablehlo::GivenArguments;

struct CompileOptions {
  bool verify = false;
  GivenArguments given;
  // Whether the runtime can run custom calls to a target; empty: any is taken on trust.
  std::function<bool(std::string_view target)> can_call;
  // The bytes of the results of a program without arguments, run on this machine; what is long work
  // on constants is then done while compiling. Empty: on every run.
  std::function<Result<std::vector<std::vector<std::byte>>>(program::Program program)> run;
  int optimization_level = 2;  // 0 to 3: passes::PipelineOptions::level
  std::string target = "native";  // or a CPU level that other machines have, as x86-64-v3
  std::string cache_dir;  // where compiled kernels outlive the process; empty: nowhere
  // Called with (stage, text) after each stage; expensive.
  std::function<void(std::string_view stage, std::string_view text)> dump;
};

// A StableHLO portable artifact (bytes) or a Module in its own text form. Thread-safe. Errors:
// INVALID_ARGUMENT for a malformed program, UNIMPLEMENTED naming an op, type and place, INTERNAL for
// a bug of ours.
Result<program::Program> compile(std::span<const std::byte> bytes, const CompileOptions& options);
Result<ir::Module> read(std::span<const std::byte> bytes, const GivenArguments& given = {});
// For callers whose arrays are all row-major, whatever the program's layout modes say.
Result<ir::Module> readRowMajor(std::span<const std::byte> bytes,
                                const GivenArguments& given = {});
// A program that has a Module's arguments and results, and no code.
program::Program signatureOf(const ir::Module& module);
// From a Module as read; runs the pipeline, plans, and generates code.
Result<program::Program> compileModule(ir::Module module, const CompileOptions& options);

// Of a CompileOptions::target. INVALID_ARGUMENT for a name that is none, FAILED_PRECONDITION for a
// target that has what this machine lacks.
Status checkTarget(const std::string& target);

// In the background, once a process, what its first compilation would otherwise wait for.
void prepare(const CompileOptions& options);

}  // namespace tercel::compiler
