// Runs a program on the evaluator: slow, plain and right. TERCEL_EVAL=1 asks for it.
#pragma once
#include <memory>

#include "compiler/ir/module.h"
#include "program/program.h"
#include "runtime/engine/runner.h"

namespace tercel::pjrt {

// The program's signature, and nothing that could be run natively.
program::Program signatureOf(const ir::Module& module);

std::shared_ptr<engine::Runner> makeEvalRunner(ir::Module module);

}  // namespace tercel::pjrt
