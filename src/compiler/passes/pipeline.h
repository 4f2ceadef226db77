// The passes in order, each named, timed, verified and dumped.
//
// What holds of a module that has been through the whole pipeline:
//   - main is its only function; no call, composite, map, get_dimension_size, optimization_barrier
//     or annotation custom_call is left; other custom calls are as they came;
//   - select and clamp have operands of full shape, `case` has three branches or more;
//   - a reshape changes the shape, a transpose moves a dimension larger than 1, a broadcast adds a
//     dimension larger than 1, its operand has no dimension of 1 and broadcast_dimensions rises;
//   - a constant of equal elements is a splat, iota has rank 1, constants stand on the right;
//   - nothing without elements is computed, and nothing that no result or effect needs;
//   - regions use values of the regions around them (captures) where a loop carried them unchanged.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/passes/passes.h"
#include "core/status.h"

namespace tercel::passes {

struct PassTime {
  std::string_view pass;
  double milliseconds = 0;
  bool changed = false;
};

struct PipelineOptions {
  bool verify = false;                // after each pass that changed the module
  int level = 2;                      // passes of higher ones are left out
  std::vector<std::string> disabled;  // names of passes
  Compute compute;                    // precompute's
  // After each pass that changed the module, and what each took.
  std::function<void(std::string_view pass, const ir::Module&)> dump;
  std::function<void(const PassTime&)> timed;
};

Status runPipeline(ir::Module& module, const PipelineOptions& options = {});
// One pass by name. Errors: INVALID_ARGUMENT for a name that no pass has.
Status runPass(std::string_view name, ir::Module& module, const PipelineOptions& options = {});
std::vector<std::string_view> passNames();  // each once

}  // namespace tercel::passes
