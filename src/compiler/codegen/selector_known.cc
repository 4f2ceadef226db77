// Vectors of integers whose lanes are known: what is computed of lane_ids and numbers alone.
#include <optional>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"
#include "compiler/kernel/bounds.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

namespace {

// Of numbers of `width` bits, whose higher bits are zero; those of the result may be anything.
std::optional<uint64_t> computed(Opcode op, uint64_t a, uint64_t b, uint64_t width) {
  switch (op) {
    case Opcode::zext: case Opcode::itrunc: return a;
    case Opcode::iadd: return a + b;
    case Opcode::isub: return a - b;
    case Opcode::imul: return a * b;
    case Opcode::and_: return a & b;
    case Opcode::or_: return a | b;
    case Opcode::udiv: return b ? std::optional(a / b) : std::nullopt;
    case Opcode::urem: return b ? std::optional(a % b) : std::nullopt;
    case Opcode::shl: return b < width ? std::optional(a << b) : std::nullopt;
    case Opcode::lshr: return b < width ? std::optional(a >> b) : std::nullopt;
    default: return {};
  }
}

}  // namespace

const Selector::Lanes* Selector::lanesOf(V v, Lanes& storage) const {
  if (auto found = known_.find(v.index); found != known_.end()) return &found->second;
  uint64_t bits;
  if (!constantBits(v, &bits)) return nullptr;
  storage.assign(kernel_.type(v).lanes, kernel::truncateTo(bits, kernel_.type(v).scalar));
  return &storage;
}

// The lanes of an instruction's result; none where they are not known.
Selector::Lanes Selector::knownLanes(const Inst& inst) const {
  Lanes lanes;
  const auto count = static_cast<uint64_t>(inst.type.lanes);
  if (inst.op == Opcode::lane_ids) {
    for (uint64_t i = 0; i < count; ++i) lanes.push_back(i);
    return lanes;
  }
  if (inst.operands.empty() || inst.operands.size() > 2) return {};
  Lanes storage[2];
  const Lanes* a = lanesOf(inst.operands[0], storage[0]);
  const Lanes* b = a ? lanesOf(inst.operands.back(), storage[1]) : nullptr;
  if (!b) return {};
  if (inst.op == Opcode::shuffle) {
    for (int lane : inst.list) {
      const auto from = static_cast<size_t>(std::max(lane, 0));
      lanes.push_back(from < a->size() ? (*a)[from] : (*b)[from - a->size()]);
    }
    return lanes;
  }
  const auto width = static_cast<uint64_t>(kernel::bitWidth(typeOf(inst, 0).scalar));
  for (size_t i = 0; i < count; ++i) {
    const std::optional<uint64_t> lane = computed(inst.op, (*a)[i], (*b)[i], width);
    if (!lane) return {};
    lanes.push_back(kernel::truncateTo(*lane, inst.type.scalar));
  }
  return lanes;
}

// A vector of them. Invalid where they are not known.
Selector::Reg Selector::knownVector(const Inst& inst) {
  const Type type = inst.type;
  if (!type.isVector() || kernel::isFloat(type.scalar) || type.scalar == Scalar::i1) return {};
  Lanes lanes = knownLanes(inst);
  if (lanes.empty()) return {};
  Reg result = registerBits(type) > 512 ? Reg() : lanesConstant(type, lanes);
  known_[inst.results[0].index] = std::move(lanes);
  return result;
}

}  // namespace tercel::codegen
