// What running a program takes, estimated: for PJRT's cost analysis.
#pragma once
#include "compiler/ir/module.h"
#include "program/program.h"

namespace tercel::plan {

// Sets program.flops: arithmetic on floating and complex numbers in main and the loops in it, whose
// turns count where they are known (else one does), without the functions that take many steps (exp,
// sin and their likes); of branches the longest. And program.bytes_accessed: what all steps read and
// write, each once.
void estimateWork(const ir::Module& module, program::Program& program);

}  // namespace tercel::plan
