#include "compiler/kernel/promote_slots.h"

#include <algorithm>
#include <bit>

namespace tercel::kernel {
namespace {

constexpr int64_t kMostBytes = 256;  // of a buffer: four of the widest registers
constexpr int64_t kSlotBytes = 64;

class SlotFinder {
 public:
  explicit SlotFinder(const Kernel& kernel) : k_(kernel) {}

  ScratchSlots run() && {
    std::vector<bool> fits;
    for (const Buffer& buffer : k_.buffers) {
      const int64_t bytes = buffer.elements * byteSize(buffer.element);
      fits.push_back(bytes > 0 && bytes <= kMostBytes && buffer.element != Scalar::i1);
    }
    // A loop's body has what its condition was given, not what that stores.
    for (const Inst& inst : k_.insts)
      if (inst.op == Opcode::while_) leaveOut(inst.blocks[0], fits);
    std::vector<std::vector<InstId>> accesses(k_.buffers.size());
    for (InstId id = 0; id < k_.insts.size(); ++id) {
      const Inst& inst = k_.insts[id];
      if (instClass(inst.op) != InstClass::memory) continue;
      const auto buffer = static_cast<size_t>(inst.imm);
      fits[buffer] = fits[buffer] && rangeOf(k_, inst);
      accesses[buffer].push_back(id);
    }
    found_.of_inst.resize(k_.insts.size(), -1);
    for (size_t buffer = 0; buffer < fits.size(); ++buffer)
      if (fits[buffer]) addSlots(k_.buffers[buffer].element, std::move(accesses[buffer]));
    return std::move(found_);
  }

 private:
  void leaveOut(BlockId block, std::vector<bool>& fits) const {
    for (InstId id : k_.blocks[block].insts) {
      const Inst& inst = k_.insts[id];
      if (inst.op == Opcode::store) fits[static_cast<size_t>(inst.imm)] = false;
      for (BlockId inner : inst.blocks) leaveOut(inner, fits);
    }
  }

  // A slot for each group of accesses that overlap, if all of them fit registers.
  void addSlots(Scalar element, std::vector<InstId> accesses) {
    const int64_t most = kSlotBytes / byteSize(element);
    auto range = [&](InstId id) { return *rangeOf(k_, k_.insts[id]); };
    std::ranges::stable_sort(accesses, {}, range);
    std::vector<Slot> added;
    for (InstId id : accesses) {
      const auto [first, end] = range(id);
      if (added.empty() || first >= added.back().end) added.push_back({first, end, {}});
      added.back().end = std::max(added.back().end, end);
      if (added.back().end - added.back().first > most) return;
    }
    for (Slot& slot : added) {
      const auto elements = static_cast<uint16_t>(slot.end - slot.first);
      slot.type = {element, std::bit_ceil(elements)};
    }
    for (InstId id : accesses) {
      const auto at = std::ranges::upper_bound(added, range(id).first, {}, &Slot::first);
      found_.of_inst[id] = static_cast<int>(found_.slots.size()) + static_cast<int>(at - added.begin()) - 1;
    }
    found_.slots.insert(found_.slots.end(), added.begin(), added.end());
  }

  const Kernel& k_;
  ScratchSlots found_;
};

}  // namespace

std::optional<ElementRange> rangeOf(const Kernel& kernel, const Inst& inst) {
  if (inst.op != Opcode::load && inst.op != Opcode::store) return {};
  const Inst* index = kernel.def(inst.operands[0]);
  if (!index || index->op != Opcode::constant) return {};
  const int64_t elements = kernel.buffers[static_cast<size_t>(inst.imm)].elements;
  const int64_t first = index->imm + inst.offset;
  if (first < 0 || first >= elements) return {};
  return {{first, std::min(first + inst.type.lanes, elements)}};
}

ScratchSlots findSlots(const Kernel& kernel) { return SlotFinder(kernel).run(); }

}  // namespace tercel::kernel
