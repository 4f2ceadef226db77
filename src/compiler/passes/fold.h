// Constant folding through the evaluator.
#pragma once
#include <optional>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// An elementwise op on splats: the splat of its value. Invalid where it is anything else.
ir::Value foldedSplat(Rewriter& rw, const ir::Op& op);
// The only result of an op on these operands; none where that is much work or an error.
std::optional<ir::Literal> evaluated(const ir::Module& module, const ir::Op& op,
                                     std::span<const ir::Literal> operands);
// fold_places.cc: lines at places that are known, gathered or added to, by slices and repetitions.
ir::Value foldedPlaces(Rewriter& rw, const ir::Op& op);
// fold_loop.cc: a while that runs never, once, or a few times over large arrays. True: its results
// are replaced.
bool foldedLoop(Rewriter& rw, const ir::Op& loop);

}  // namespace tercel::passes
