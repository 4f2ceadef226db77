// Runs a program on the evaluator: slow, plain and right. TERCEL_EVAL=1 asks for it;
// TERCEL_CHECK=1 for native code whose results the evaluator judges.
#pragma once
#include <memory>

#include "compiler/ir/module.h"
#include "program/program.h"
#include "runtime/engine/runner.h"

namespace tercel::pjrt {

std::shared_ptr<engine::Runner> makeEvalRunner(ir::Module module);

// Native code and then the evaluator on the same arguments; INTERNAL where their results differ.
Result<std::shared_ptr<engine::Runner>> makeCheckRunner(ir::Module module,
                                                        program::Program program);

}  // namespace tercel::pjrt
