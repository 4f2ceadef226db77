// Parts of a counted loop's work that are done for all turns at once, where vectors hold many turns:
// in the loop it would be done one number at a time.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "compiler/ir/rename.h"
#include "compiler/passes/all_turns.h"

namespace tercel::passes {

constexpr int64_t kMostTurnElements = 8;  // of a value on one turn: more fill vectors by themselves
constexpr int64_t kMostTurnBytes = 16 << 20;  // of all turns
// What pays for a number's way through memory, in additions.
constexpr int kWorthwhileWork = 20;
int workOf(const ir::Op& op);
// Whether it takes that much to make v of what does not belong to the work.
bool isWorthwhile(const ir::Module& m, ir::Value v, const std::function<bool(ir::Value)>& belongs);

// Values of the body by the arrays that hold them on all turns: from here on they are read there.
using KeptValues = std::vector<std::pair<ir::Value, ir::Value>>;
void readKept(ir::Module& m, const ir::Op& loop, const TurnDependence& dependence,
              const KeptValues& kept);

// What depends on the number of the turn alone, as on a scan's xs: made before the loop, by ops that
// are appended to `front`. Whether there is any.
bool workBefore(ir::Module& m, const ir::Op& loop, const ir::CountedLoop& counted,
                ir::RegionId front);

// What is stored, a line on each turn, and read by no other turn: made after the loop. The loop that
// comes instead, between two regions to which ops are appended; invalid where there is none.
struct Around {
  ir::RegionId before, after;
  ir::Renamed& renamed;  // what stands for the results of the loop
};
ir::OpId workAfter(ir::Module& m, const ir::Op& loop, const ir::CountedLoop& counted,
                   const Around& to);

// What is carried from integers to integers alone, as the key of random numbers that is split on each
// turn, in a loop of its own, which comes last in `before`; it stores what the rest reads of it.
// Where there is any: work on that can then be moved behind that loop.
ir::OpId lanesAhead(ir::Module& m, const ir::Op& loop, const ir::CountedLoop& counted,
                    ir::RegionId before, ir::Renamed& renamed);

}  // namespace tercel::passes
