// Module -> Plan: the kernels to generate and the steps that run them.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/cluster.h"
#include "program/program.h"

namespace tercel::plan {

// program has everything but objects; its kernels[i] comes from clusters[i].
struct Plan {
  std::vector<kernel::Cluster> clusters;
  std::vector<std::string> names;  // of the JAX op each comes from, for symbols
  program::Program program;
};

// Whether something can run custom calls to a target; empty: any is taken on trust.
using CanCall = std::function<bool(std::string_view target)>;

// The module must have come through the pipeline (passes/pipeline.h). UNIMPLEMENTED names the op, its
// types and its source location.
Result<Plan> makePlan(const ir::Module& module, const CanCall& can_call = {});

// The text form, for dumps and tests.
std::string print(const ir::Module& module, const Plan& plan);

}  // namespace tercel::plan
