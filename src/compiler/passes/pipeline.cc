#include "compiler/passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "compiler/ir/small_types.h"
#include "compiler/ir/verifier.h"

namespace tercel::passes {
using ir::Module;
namespace {

PassResult lowerSmallTypes(Module& module) { return ir::lowerSmallTypes(module); }

struct RunPass {
  constexpr RunPass(PassResult (*run)(Module&)) : plain(run) {}
  constexpr RunPass(PassResult (*run)(Module&, const Compute&)) : computing(run) {}
  PassResult operator()(Module& module, const PipelineOptions& options) const {
    return plain ? plain(module) : computing(module, options.compute);
  }
  PassResult (*plain)(Module&) = nullptr;
  PassResult (*computing)(Module&, const Compute&) = nullptr;
};

struct Pass {
  std::string_view name;
  RunPass run;
  int level;  // the lowest that has it; 0: nothing runs without
};

// The order, and why it is this one.
constexpr Pass kPipeline[] = {
    {"small_types", lowerSmallTypes, 0},  // first: no other pass knows these types
    {"inline", inlineCalls, 0},           // no later pass has to look through a call
    {"recognise", recogniseFunctions, 1},  // before all that changes what JAX sends
    {"decompose", decompose, 0},          // the passes make its loops and products better
    {"late_products", multiplyLate, 2},   // before products of vectors become multiplications
    {"canonicalise", canonicalise, 0},    // before all that compares or matches
    {"fold", fold, 1},             // constant predicates and trip counts out in the open
    {"licm", hoistInvariants, 1},  // carried invariants become captures, which cse and fold see
    {"cse", cse, 1},
    {"dce", dce, 1},          // what is dead would count as a use
    {"precompute", precompute, 2},  // before the second fold, which makes use of what comes out
    {"unstack", unstack, 2},  // after dce: what is read all the same has to be put together again
    {"take_apart", takeApart, 2},  // what unstack left together
    {"carried_sums", addCarriedInPlace, 2},  // after licm, which takes the zeros out of the loop
    {"algebra", algebra, 2},  // after cse: its rules ask for single uses
    {"layout", layout, 2},
    {"turn_factors", turnFactors, 2},  // which layout has products take up as they lie
    {"canonicalise", canonicalise, 2},  // what algebra and layout left behind
    {"fold", fold, 2},
    {"licm", hoistInvariants, 2},
    {"fission", fission, 2},  // after licm: what is captured does not change
    {"narrow", narrowComparisons, 2},  // what it makes twice cse joins
    {"number_lines", numberLines, 2},  // after all that looks at places one by one
    {"cse", cse, 2},
    {"sink", sinkConstants, 2},  // after the last cse, which would undo it
    {"dce", dce, 2},          // a dead reader would keep a product from its sum
    {"multiply_add", fuseMultiplyAdd, 2},  // a barrier is a way to ask for the product's rounding
    {"join_updates", joinUpdates, 2},  // after multiply_add: its readers are those that run
    {"barriers", dropBarriers, 0},  // after the last cse, which they hold back
    {"expand", expand, 0},          // after all that knows the ops by their own form
    {"pair_turns", pairTurns, 2},   // its barriers, and which loops they are in, are for plan
    {"dce", dce, 0},                // last, so that nothing dead reaches plan
};

// Runs one pass and does all that is done around every pass.
Status runOne(const Pass& pass, Module& module, const PipelineOptions& options) {
  auto start = std::chrono::steady_clock::now();
  PassResult result = pass.run(module, options);
  if (!result.ok()) return result.status();
  if (options.timed) {
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    options.timed({pass.name, took.count(), *result});
  }
  if (!*result) return {};
  if (options.dump) options.dump(pass.name, module);
  if (!options.verify) return {};
  return ir::verify(module).within(cat("after pass ", pass.name));
}

}  // namespace

Status runPipeline(Module& module, const PipelineOptions& options) {
  for (const Pass& pass : kPipeline) {
    if (pass.level > options.level) continue;
    if (std::ranges::find(options.disabled, pass.name) != options.disabled.end()) continue;
    TERCEL_TRY(runOne(pass, module, options));
  }
  return {};
}

Status runPass(std::string_view name, Module& module, const PipelineOptions& options) {
  for (const Pass& pass : kPipeline)
    if (pass.name == name) return runOne(pass, module, options);
  return invalidArgument("no pass is named ", name);
}

std::vector<std::string_view> passNames() {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPipeline)
    if (std::ranges::find(names, pass.name) == names.end()) names.push_back(pass.name);
  return names;
}

}  // namespace tercel::passes
