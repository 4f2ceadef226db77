#include "compiler/kernel/unused.h"

#include <vector>

namespace tercel::kernel {

void removeUnused(Kernel& kernel) {
  std::vector<uint32_t> uses(kernel.values.size());
  std::vector<bool> unused(kernel.insts.size(), true);
  std::vector<InstId> order;  // as they are in the blocks: before what reads them
  auto note = [&](auto& self, BlockId id) -> void {
    for (InstId i : kernel.blocks[id].insts) {
      unused[i] = false;
      order.push_back(i);
      for (V v : kernel.insts[i].operands) ++uses[v.index];
      for (BlockId inner : kernel.insts[i].blocks) self(self, inner);
    }
    for (V v : kernel.blocks[id].yields) ++uses[v.index];
  };
  note(note, 0);
  for (const Function& function : kernel.functions) note(note, function.body);
  for (size_t at = order.size(); at-- > 0;) {
    const Inst& inst = kernel.insts[order[at]];
    if (instClass(inst.op) != InstClass::pure || uses[inst.results[0].index] > 0) continue;
    unused[order[at]] = true;
    for (V v : inst.operands) --uses[v.index];
  }
  for (Block& block : kernel.blocks)
    std::erase_if(block.insts, [&](InstId id) { return unused[id]; });
}

}  // namespace tercel::kernel
