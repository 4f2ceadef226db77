// The rule sets of the rewriting passes. A rule returns what stands for the op's only result from
// now on, or an invalid Value to keep the op.
#pragma once
#include "compiler/passes/ranges.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// canonicalise.cc: all rules for ops without regions
ir::Value canonicalForm(Rewriter& rw, const ir::Op& op);
// canonicalise_arithmetic.cc
ir::Value canonicalArithmetic(Rewriter& rw, const ir::Op& op);
// canonicalise_power.cc: a power of exponents that are no splat
ir::Value canonicalPower(Rewriter& rw, const ir::Op& power);
// canonicalise_select.cc: compare, select, clamp and conversions
ir::Value canonicalSelection(Rewriter& rw, const ir::Op& op);
// canonicalise_narrow.cc: a conversion to a narrower integer
ir::Value narrowedArithmetic(Rewriter& rw, const ir::Op& convert);
// canonicalise_count.cc: of what is made of iota and constants alone, and costs nothing where it is
// made twice: an op with a narrower result, of at least 32 bits; a sum that numbers its elements in order
ir::Value narrowedCount(Rewriter& rw, const ir::Op& op, DType to);
ir::Value countedInOrder(Rewriter& rw, const ir::Op& add);
// canonicalise_floor.cc: selections that round quotients down
ir::Value canonicalFloor(Rewriter& rw, const ir::Op& op);
// canonicalise_movement.cc
ir::Value canonicalMovement(Rewriter& rw, const ir::Op& op);
// canonicalise_slice.cc
ir::Value canonicalSlice(Rewriter& rw, const ir::Op& slice);
// canonicalise_cut.cc: slices, pads and joins
ir::Value canonicalCut(Rewriter& rw, const ir::Op& op);
// canonicalise_few.cc: dynamic_slice, gather and scatter
ir::Value canonicalFew(Rewriter& rw, const ir::Op& op);
// canonicalise_gather.cc: gathers at places that follow from the coordinates
ir::Value canonicalGather(Rewriter& rw, const ir::Op& op);
// canonicalise_batching.cc: gathers and scatters, which it edits
void batchCountedPlaces(Rewriter& rw, ir::OpId id);
// canonicalise_window.cc: gathers and scatters of one window
ir::Value canonicalWindow(Rewriter& rw, const ir::Op& op);
// A scatter of one window whose place is known to be within the operand.
ir::Value updateWithinRange(Rewriter& rw, const ir::Op& scatter, const IntegerRanges& ranges);
// canonicalise_product.cc: dot_general and convolution
ir::Value canonicalProduct(Rewriter& rw, const ir::Op& op);
// sum_of_products.cc, for a reduce that is the only reader of what it adds up
ir::Value sumOfProducts(Rewriter& rw, const ir::Op& reduce);
// sum_in_place.cc: the same scatter to, from and of something else
ir::Value scatterAgain(Rewriter& rw, const ir::Op& scatter, ir::Values operands, bool sorted);
// column_update.cc, for a dynamic_update_slice
ir::Value updateColumn(Rewriter& rw, const ir::Op& op, bool in_loop);
// select_in_place.cc, for a select that is the only reader of what it chooses
ir::Value selectInPlace(Rewriter& rw, const ir::Op& select);
// sum_in_place.cc: to + added, which is zero around some places and read by nothing else. Negative
// zeros of `to` stay where nothing is added. An update takes its memory: better if only that reads it
bool isZeroAroundPlaces(const Rewriter& rw, ir::Value added);
ir::Value sumInPlace(Rewriter& rw, ir::Value to, ir::Value added);
// compute_after_slice.cc: slices and dynamic_slices of element work that nothing else reads
ir::Value computeAfterSlice(Rewriter& rw, const ir::Op& slice);
// arg_reduce.cc, for selections in the body of a reduce: the place of the best element, of equal
// ones or of several NaN that of the first, in whatever order the body is given them.
ir::Value firstOfBest(Rewriter& rw, const ir::Op& reduce, const ir::Op& select);
// canonicalise_control.cc; true: the op's results are replaced.
bool canonicalBranch(Rewriter& rw, ir::OpId id);   // before the regions are walked: if, case
// After them: if, map, optimization_barrier, reduce, scatter, sort, while; of what actsOnElements,
// all that gives none.
bool canonicalControl(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
