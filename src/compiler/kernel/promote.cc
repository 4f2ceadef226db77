#include "compiler/kernel/promote.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "compiler/kernel/promote_slots.h"

namespace tercel::kernel {
namespace {

using Slots = std::vector<bool>;  // by slot

// Where an element is: a lane of a value. Invalid: nothing was stored yet.
struct Source {
  V value;
  int lane = 0;
};
using Sources = std::vector<Source>;

class Promotion {
 public:
  Promotion(Kernel& kernel, ScratchSlots found)
      : k_(kernel), slots_(std::move(found.slots)), slot_of_(std::move(found.of_inst)),
        instead_(kernel.values.size()) {}

  void run() {
    Current current;
    for (const Slot& slot : slots_) current.emplace_back(slot.end - slot.first);
    const Slots none(slots_.size());
    rewrite(0, std::move(current), none, none);
  }

 private:
  using Current = std::vector<Sources>;  // by slot

  std::optional<size_t> slotOf(InstId id) const {
    if (id >= slot_of_.size() || slot_of_[id] < 0) return {};
    return static_cast<size_t>(slot_of_[id]);
  }
  bool isWhole(const Inst& store, const Slot& slot) const {
    return *rangeOf(k_, store) == std::pair(slot.first, slot.end);
  }

  void noteStored(BlockId block, Slots& stored) const {
    for (InstId id : k_.blocks[block].insts) {
      const Inst& inst = k_.insts[id];
      if (auto slot = slotOf(id); slot && inst.op == Opcode::store) stored[*slot] = true;
      for (BlockId inner : inst.blocks) noteStored(inner, stored);
    }
  }

  // What may be loaded, before it is stored, from an instruction on that `live` follow.
  void stepBack(InstId id, Slots& live) const {
    const Inst& inst = k_.insts[id];
    if (auto slot = slotOf(id)) {
      if (inst.op == Opcode::load) live[*slot] = true;
      else if (isWhole(inst, slots_[*slot])) live[*slot] = false;
    }
    for (BlockId inner : inst.blocks) addFirstLoads(inner, live);
  }
  void addFirstLoads(BlockId block, Slots& live) const {
    Slots first(slots_.size());
    const std::vector<InstId>& insts = k_.blocks[block].insts;
    for (size_t i = insts.size(); i-- > 0;) stepBack(insts[i], first);
    for (size_t slot = 0; slot < live.size(); ++slot) live[slot] = live[slot] || first[slot];
  }
  // What an instruction that holds blocks stores and one of `live` afterwards wants.
  Slots storedFor(const Inst& inst, const Slots& live) const {
    Slots stored(slots_.size());
    for (BlockId inner : inst.blocks) noteStored(inner, stored);
    for (size_t slot = 0; slot < stored.size(); ++slot) stored[slot] = stored[slot] && live[slot];
    return stored;
  }

  V addValue(Type type, BlockId block, InstId def) {
    k_.values.push_back({type, block, def});
    instead_.emplace_back();
    return V{static_cast<uint32_t>(k_.values.size() - 1)};
  }
  V emit(Inst inst, BlockId block) {
    if (const V same = sameAs(inst); same.valid()) return same;
    const auto id = static_cast<InstId>(k_.insts.size());
    const V result = addValue(inst.type, block, id);
    inst.results = {result};
    k_.insts.push_back(std::move(inst));
    append(id, block);
    return result;
  }
  void append(InstId id, BlockId block) {
    k_.blocks[block].insts.push_back(id);
    if (instClass(k_.insts[id].op) != InstClass::pure) return;
    computed_.emplace(keyOf(k_.insts[id]), k_.insts[id].results[0]);
    in_scope_.push_back(id);
  }

  // Two loads of one element that nothing is stored to between are one value: so may be what is
  // computed of it.
  using Key = std::tuple<Opcode, Scalar, uint16_t, int64_t, std::vector<uint32_t>,
                         std::vector<int16_t>>;
  static Key keyOf(const Inst& inst) {
    std::vector<uint32_t> operands;
    for (V v : inst.operands) operands.push_back(v.index);
    return {inst.op, inst.type.scalar, inst.type.lanes, inst.imm, std::move(operands), inst.list};
  }
  V sameAs(const Inst& inst) const {
    if (instClass(inst.op) != InstClass::pure) return {};
    const auto at = computed_.find(keyOf(inst));
    return at == computed_.end() ? V{} : at->second;
  }
  // An instruction that stays, or is one before it.
  void keep(InstId id, BlockId block) {
    if (const V same = sameAs(k_.insts[id]); same.valid())
      instead_[k_.insts[id].results[0].index] = same;
    else
      append(id, block);
  }

  V zero(Type type) {
    Inst inst{.op = Opcode::constant, .type = type};
    if (const V same = sameAs(inst); same.valid()) return same;
    const auto id = static_cast<InstId>(k_.insts.size());
    const V value = addValue(type, 0, id);
    inst.results = {value};
    k_.insts.push_back(std::move(inst));
    k_.blocks[0].insts.insert(k_.blocks[0].insts.begin(), id);
    return value;
  }

  V shuffle(V a, V b, int lanes, BlockId block, const std::function<int(int)>& lane) {
    Inst inst{.op = Opcode::shuffle, .type = k_.type(a), .operands = {a, b}};
    inst.type.lanes = static_cast<uint16_t>(lanes);
    for (int i = 0; i < lanes; ++i) inst.list.push_back(static_cast<int16_t>(lane(i)));
    return emit(std::move(inst), block);
  }

  // A value of the sources that are `v`, in their lanes; the others are any.
  V inPlace(V v, const Sources& sources, Type type, BlockId block) {
    if (type.lanes == 1) {
      if (k_.type(v).lanes == 1) return v;
      return emit({.op = Opcode::extract, .type = type, .operands = {v}, .imm = sources[0].lane},
                  block);
    }
    if (k_.type(v).lanes == 1)
      return emit({.op = Opcode::splat, .type = type, .operands = {v}}, block);
    bool stays = k_.type(v) == type;
    for (size_t i = 0; i < sources.size(); ++i)
      stays = stays && (sources[i].value != v || sources[i].lane == static_cast<int>(i));
    if (stays) return v;
    return shuffle(v, v, type.lanes, block, [&](int i) {
      return isFrom(v, sources, i) ? sources[static_cast<size_t>(i)].lane : -1;
    });
  }
  static bool isFrom(V v, const Sources& sources, int i) {
    return i < static_cast<int>(sources.size()) && sources[static_cast<size_t>(i)].value == v;
  }

  static std::vector<V> valuesOf(const Sources& sources) {
    std::vector<V> values;
    for (const Source& source : sources)
      if (source.value.valid() && !std::ranges::count(values, source.value))
        values.push_back(source.value);
    return values;
  }
  // Whether one shuffle takes lanes of both.
  bool areTwo(const std::vector<V>& values) const {
    return values.size() == 2 && k_.type(values[0]) == k_.type(values[1]) &&
           k_.type(values[0]).isVector();
  }

  // The sources as one value.
  V gather(const Sources& sources, Type type, BlockId block) {
    const std::vector<V> values = valuesOf(sources);
    if (values.empty()) return zero(type);
    if (values.size() == 1) return inPlace(values[0], sources, type, block);
    if (!areTwo(values)) return merged(values, sources, type, block);
    return shuffle(values[0], values[1], type.lanes, block, [&](int i) {
      const bool of_first = isFrom(values[0], sources, i);
      if (!of_first && !isFrom(values[1], sources, i)) return -1;
      return sources[static_cast<size_t>(i)].lane + (of_first ? 0 : k_.type(values[0]).lanes);
    });
  }
  // Halves of the sources' values become one vector each, until one is left. What has the type
  // already keeps its lanes where they are.
  V merged(std::span<const V> values, const Sources& sources, Type type, BlockId block) {
    if (values.size() == 1)
      return k_.type(values[0]) == type ? values[0] : inPlace(values[0], sources, type, block);
    const auto first = values.first(values.size() / 2), second = values.subspan(values.size() / 2);
    const V a = merged(first, sources, type, block), b = merged(second, sources, type, block);
    auto holds = [&](std::span<const V> half, int i) {
      return std::ranges::any_of(half, [&](V v) { return isFrom(v, sources, i); });
    };
    auto lane = [&](std::span<const V> half, int i) {
      const bool stays = half.size() == 1 && k_.type(half[0]) == type;
      return stays ? sources[static_cast<size_t>(i)].lane : i;
    };
    return shuffle(a, b, type.lanes, block, [&](int i) {
      if (holds(first, i)) return lane(first, i);
      return holds(second, i) ? type.lanes + lane(second, i) : -1;
    });
  }

  // A slot's elements as one value, from now on its only source.
  V valueOf(size_t slot, Current& current, BlockId block) {
    const V value = gather(current[slot], slots_[slot].type, block);
    setValue(current[slot], value);
    return value;
  }
  static void setValue(Sources& sources, V value) {
    for (size_t i = 0; i < sources.size(); ++i) sources[i] = {value, static_cast<int>(i)};
  }

  template <class Values>
  void replaceIn(Values& values) {
    for (V& v : values)
      while (instead_[v.index].valid()) v = instead_[v.index];
  }

  // Yields `wanted` of the slots, too.
  void rewrite(BlockId block, Current current, Slots live, const Slots& wanted) {
    const std::vector<InstId> insts = std::exchange(k_.blocks[block].insts, {});
    std::vector<Slots> after(insts.size());  // of those that hold blocks
    for (size_t i = insts.size(); i-- > 0;) {
      if (!k_.insts[insts[i]].blocks.empty()) after[i] = live;
      stepBack(insts[i], live);
    }
    const size_t scope = in_scope_.size();
    for (size_t i = 0; i < insts.size(); ++i) {
      const InstId id = insts[i];
      replaceIn(k_.insts[id].operands);
      if (auto slot = slotOf(id)) {
        access(std::exchange(k_.insts[id], {}), *slot, block, current);
        continue;
      }
      if (k_.insts[id].op == Opcode::shuffle || k_.insts[id].op == Opcode::extract) {
        choose(id, block);
        continue;
      }
      if (k_.insts[id].op == Opcode::if_)
        branch(id, block, current, after[i]);
      else if (!k_.insts[id].blocks.empty())
        loop(id, block, current, std::move(after[i]));
      keep(id, block);
    }
    replaceIn(k_.blocks[block].yields);
    for (size_t slot = 0; slot < wanted.size(); ++slot) {
      if (!wanted[slot]) continue;
      const V last = valueOf(slot, current, block);
      k_.blocks[block].yields.push_back(last);
    }
    for (; in_scope_.size() > scope; in_scope_.pop_back())
      computed_.erase(keyOf(k_.insts[in_scope_.back()]));
  }

  void access(const Inst& inst, size_t slot, BlockId block, Current& current) {
    const auto [first, end] = *rangeOf(k_, inst);
    const auto at = current[slot].begin() + (first - slots_[slot].first);
    if (inst.op == Opcode::load)
      instead_[inst.results[0].index] =
          gather(Sources(at, at + (end - first)), inst.type, block);
    else
      for (int64_t i = first; i < end; ++i)
        at[i - first] = {inst.operands[1], static_cast<int>(i - first)};
  }

  // Lanes of what lanes were chosen from are chosen from that itself, where it is one shuffle still.
  void choose(InstId id, BlockId block) {
    const Inst& inst = k_.insts[id];
    Sources sources;
    for (int i = 0; i < inst.type.lanes; ++i)
      sources.push_back(behind(sourceOf(inst, i)));
    const std::vector<V> values = valuesOf(sources);
    const V result = inst.results[0];
    if (values.size() == 1 || areTwo(values))
      instead_[result.index] = gather(sources, k_.type(result), block);
    else
      keep(id, block);
  }
  Source sourceOf(const Inst& inst, int i) const {
    if (inst.op == Opcode::extract) return {inst.operands[0], static_cast<int>(inst.imm)};
    const int lanes = k_.type(inst.operands[0]).lanes, lane = inst.list[static_cast<size_t>(i)];
    if (lane < 0) return {};
    return {inst.operands[lane < lanes ? 0 : 1], lane % lanes};
  }
  Source behind(Source source) const {
    const Inst* def = source.value.valid() ? k_.def(source.value) : nullptr;
    while (def && def->op == Opcode::shuffle) {
      source = sourceOf(*def, source.lane);
      def = source.value.valid() ? k_.def(source.value) : nullptr;
    }
    return source;
  }

  // Carries what a turn stores and the next one, or what follows, may load.
  void loop(InstId id, BlockId block, Current& current, Slots live) {
    const SmallVector<BlockId, 2> blocks = k_.insts[id].blocks;
    for (BlockId inner : blocks) addFirstLoads(inner, live);
    const Slots carried = storedFor(k_.insts[id], live);
    for (size_t slot = 0; slot < carried.size(); ++slot) {
      if (!carried[slot]) continue;
      const V first = valueOf(slot, current, block);
      k_.insts[id].operands.push_back(first);
    }
    for (BlockId inner : blocks) {
      Current now = current;
      for (size_t slot = 0; slot < carried.size(); ++slot) {
        if (!carried[slot]) continue;
        const V value = addValue(slots_[slot].type, inner, kNone);
        k_.blocks[inner].args.push_back(value);
        setValue(now[slot], value);
      }
      const bool is_body = inner == blocks.back();
      rewrite(inner, std::move(now), live, is_body ? carried : Slots());
    }
    setResults(id, block, carried, current);
  }

  void branch(InstId id, BlockId block, Current& current, const Slots& live) {
    const Slots stored = storedFor(k_.insts[id], live);
    for (BlockId inner : SmallVector<BlockId, 2>(k_.insts[id].blocks))
      rewrite(inner, current, live, stored);
    setResults(id, block, stored, current);
  }

  void setResults(InstId id, BlockId block, const Slots& slots, Current& current) {
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      if (!slots[slot]) continue;
      const V value = addValue(slots_[slot].type, block, id);
      k_.insts[id].results.push_back(value);
      setValue(current[slot], value);
    }
  }

  static constexpr InstId kNone = 0xffffffffu;
  Kernel& k_;
  std::vector<Slot> slots_;
  std::vector<int> slot_of_;  // by instruction of before; -1: none
  std::vector<V> instead_;    // by V
  std::map<Key, V> computed_;
  std::vector<InstId> in_scope_;  // those of computed_, in order
};

}  // namespace

void promoteScratch(Kernel& kernel) {
  ScratchSlots found = findSlots(kernel);
  if (!found.slots.empty()) Promotion(kernel, std::move(found)).run();
}

}  // namespace tercel::kernel
