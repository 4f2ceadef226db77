// Module -> Module: the passes, by name. Their order and its reasons are in pipeline.cc.
#pragma once
#include <functional>
#include <vector>

#include "compiler/ir/literal.h"
#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::passes {

// Each returns whether it changed the module.
using PassResult = Result<bool>;
// The results of a module without arguments, by compiled code.
using Compute = std::function<Result<std::vector<ir::Literal>>(ir::Module)>;

// Calls and composites into main, annotations away; main is then the only function.
PassResult inlineCalls(ir::Module& module);
PassResult recogniseFunctions(ir::Module& module);
// Algorithms as loops, products and reductions.
PassResult decompose(ir::Module& module);
// Products that a loop adds up: one after it.
PassResult multiplyLate(ir::Module& module);
// One form for equal things; what is an identity goes.
PassResult canonicalise(ir::Module& module);
// Constants through the evaluator, bounded in size.
PassResult fold(ir::Module& module);
// What takes long to compute of constants alone: a constant. Nothing where `compute` is empty.
PassResult precompute(ir::Module& module, const Compute& compute);
// Equal ops once.
PassResult cse(ir::Module& module);
// What no result and no effect needs goes, to the last loop-carried value.
PassResult dce(ir::Module& module);
// What loops add to parts of an array that they carry: where it lies.
PassResult addCarriedInPlace(ir::Module& module);
// Rewrites that leave less to compute, never reassociating floats.
PassResult algebra(ir::Module& module);
// Transposes and unit reshapes towards cancellation or into the ops that read any order.
PassResult layout(ir::Module& module);
// Factors that a loop's products read in another order: turned before the loop.
PassResult turnFactors(ir::Module& module);
// Loops that carry few components as one array: each in an array of its own.
PassResult unstack(ir::Module& module);
// What puts few components together and takes them apart again: each computed by itself.
PassResult takeApart(ir::Module& module);
// Out of loops what is the same on every turn.
PassResult hoistInvariants(ir::Module& module);
// Work of a loop that needs nothing of the turns before: of all turns at once.
PassResult fission(ir::Module& module);
// Comparisons of integers in the narrowest type that holds both sides.
PassResult narrowComparisons(ir::Module& module);
// Gathers of lines that several numbers say the place of: one number each.
PassResult numberLines(ir::Module& module);
// Constants from around a region into it.
PassResult sinkConstants(ir::Module& module);
// a * b + c as one op where nothing else needs the product.
PassResult fuseMultiplyAdd(ir::Module& module);
// Updates that arithmetic alone reads: joined to what lies around them.
PassResult joinUpdates(ir::Module& module);
// optimization_barrier has done its work once the last cse has run.
PassResult dropBarriers(ir::Module& module);
// Loops whose next arrays cannot take the memory of those before: two turns as one.
PassResult pairTurns(ir::Module& module);
// Ops in the form that kernels are generated for.
PassResult expand(ir::Module& module);

}  // namespace tercel::passes
