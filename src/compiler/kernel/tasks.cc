#include "compiler/kernel/tasks.h"

#include <deque>

#include "compiler/kernel/domain_rows.h"
#include "compiler/kernel/element_loops.h"

namespace tercel::kernel {

void emitElementLoops(Lowering& low, const Dims& domain, const Evaluate& evaluate) {
  std::deque<ElementLoops> loops;
  loops.emplace_back(low, Piece{Indices(domain.size()), domain}, true, evaluate);
  DomainRows rows(low, domain, evaluate);
  if (rows.suits() && (rows.cutsRow() || !loops[0].goesOverRows()))
    return low.forTasks(rows.tasks(), [&](V task) { rows.emitTask(task); });
  if (!loops[0].goesOverRows()) {
    std::vector<Piece> pieces = cutDomain(low, domain, evaluate);
    if (pieces.size() > 1) {
      loops.clear();
      for (Piece& piece : pieces) loops.emplace_back(low, std::move(piece), false, evaluate);
    }
  }
  if (loops.size() == 1)
    return low.forTasks(loops[0].tasks(), [&](V task) { loops[0].emitTask(task); });
  int64_t count = 0;
  for (const ElementLoops& piece : loops) count += piece.tasks();
  Builder& b = low.builder;
  low.forTaskRange(count, [&](V begin, V end) {
    for (ElementLoops& piece : loops) {
      const V from = b.binary(Opcode::smax, begin, b.index(0));
      const V to = b.binary(Opcode::smin, end, b.index(piece.tasks()));
      b.forLoop(from, to, 1, [&](V task) { piece.emitTask(task); });
      begin = b.isub(begin, b.index(piece.tasks()));
      end = b.isub(end, b.index(piece.tasks()));
    }
  });
}

}  // namespace tercel::kernel
