// Compiled programs run as the tools do: arguments made up or read, results as literals.
#pragma once
#include <cstdint>

#include "compiler/eval/evaluator.h"
#include "core/status.h"
#include "program/program.h"

namespace tercel::tools {

struct Runs {
  int64_t threads = 0;  // the caller's included; 0: all cores
  int64_t count = 1;
  double least = 0;  // out: milliseconds of the fastest
};

// The arguments are copied anew for each run: one that shares a result's memory is overwritten.
Result<eval::Literals> runNative(program::Program program, const eval::Literals& arguments,
                                 Runs& runs);

// An error that names the first result that differs.
Status compare(const eval::Literals& got, const eval::Literals& wanted);

}  // namespace tercel::tools
