// Lanes: what belongs to the i-th result of an op with one result per group of operands. A while's
// lane is a carried value, a reduce's an input with its init, a sort's an array sorted along.
#pragma once
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::passes {

bool hasLanes(ir::OpKind kind);
// The lane an operand belongs to; -1 for one that serves all (scatter's indices, if's predicate).
int64_t laneOfOperand(const ir::Op& op, size_t operand);
// The operands of one lane, in order.
SmallVector<uint32_t, 2> operandsOfLane(const ir::Op& op, uint32_t lane);
// The lane an argument of one of the op's regions belongs to.
int64_t laneOfArg(const ir::Op& op, size_t arg);
// Whether the i-th value that the op's region returns belongs to lane i (a loop's condition: no).
bool returnsLanes(const ir::Op& op, size_t region);

// Drops the lanes for which `keep` is false; nothing may use their results or arguments any more.
void keepLanes(ir::Module& module, ir::OpId id, const std::vector<bool>& keep);

}  // namespace tercel::passes
