// StableHLO bytes to something that can be loaded.
#pragma once
#include <memory>
#include <string_view>

#include "core/options.h"
#include "core/status.h"
#include "pjrt/compile_options.h"
#include "program/program.h"
#include "runtime/engine/runner.h"

namespace tercel::pjrt {

struct Compiled {
  program::Program program;
  std::shared_ptr<engine::Runner> runner;  // null: the program's native code
  bool is_native = true;                   // false: the program is a signature only
};

Result<Compiled> compile(std::string_view code, const Options& options);

// INVALID_ARGUMENT where this machine can't run what is compiled for the options' cpu.
Status checkCpu(const Options& options);

// `options` changed by the user's compiler_options. INVALID_ARGUMENT "No such compile option: 'x'"
// for what is no option, or one of the client's.
Result<Options> withOverrides(Options options, const CompileOptions& given);

}  // namespace tercel::pjrt
