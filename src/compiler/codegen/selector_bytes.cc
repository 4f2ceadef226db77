// Products and shifts of bytes, for which machines have no vector instructions: as words of two,
// whose upper and lower bytes are worked out apart.
#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

namespace {

kernel::Type inWords(kernel::Type bytes) {
  return {Scalar::i16, static_cast<uint16_t>(registerBits(bytes) / 16)};
}

}  // namespace

// Both sides on words, whose other bytes are zero, joined.
Selector::Reg Selector::joinedBytes(Type type, Reg lower, Reg upper) {
  return make(cat("VPORD", widthSuffix(type), "rr"), type, {lower, upper});
}

Selector::Reg Selector::wordOp(const char* stem, Type type, Reg a, Reg b) {
  return make(cat(stem, widthSuffix(type), "rr"), type, {a, b});
}

Selector::Reg Selector::wordShift(const char* stem, Type type, Reg a, int64_t by) {
  return make(cat(stem, widthSuffix(type), "ri"), type, {a}, by);
}

Selector::Reg Selector::byteProduct(const Inst& inst) {
  const Type type = inst.type, words = inWords(type);
  Reg a = operand(inst, 0), b = operand(inst, 1);
  Reg lower = wordOp("VPANDD", type, wordOp("VPMULLW", type, a, b), constant(words, 0xff));
  Reg upper = wordOp("VPMULLW", type, wordOp("VPANDD", type, a, constant(words, 0xff00)),
                     wordShift("VPSRLW", type, b, 8));
  return joinedBytes(type, lower, upper);
}

// By one amount known now: of the words, and what came from the other byte cut off.
Selector::Reg Selector::byteShiftBy(const Inst& inst, int64_t amount) {
  const Type type = inst.type;
  const bool left = inst.op == Opcode::shl;
  const uint64_t kept = (left ? 0xff << amount : 0xff >> amount) & 0xff;
  Reg moved = wordShift(left ? "VPSLLW" : "VPSRLW", type, operand(inst, 0), amount);
  Reg result = wordOp("VPANDD", type, moved, constant(type, kept));
  if (inst.op != Opcode::ashr) return result;
  Reg sign = constant(type, uint64_t{0x80} >> amount);
  return wordOp("VPSUBB", type, wordOp("VPXORD", type, result, sign), sign);
}

Selector::Reg Selector::byteShift(const Inst& inst) {
  uint64_t known;
  if (constantBits(inst.operands[1], &known))
    return byteShiftBy(inst, static_cast<int64_t>(known));
  const Type type = inst.type, words = inWords(type);
  Reg a = operand(inst, 0), by = operand(inst, 1);
  Reg lower_mask = constant(words, 0xff), upper_mask = constant(words, 0xff00);
  Reg by_lower = wordOp("VPANDD", type, by, lower_mask);
  Reg by_upper = wordShift("VPSRLW", type, by, 8);
  auto masked = [&](Reg v, Reg mask) { return wordOp("VPANDD", type, v, mask); };
  switch (inst.op) {
    case Opcode::shl:
      return joinedBytes(type, masked(wordOp("VPSLLVW", type, a, by_lower), lower_mask),
                         wordOp("VPSLLVW", type, masked(a, upper_mask), by_upper));
    case Opcode::lshr:
      return joinedBytes(type, wordOp("VPSRLVW", type, masked(a, lower_mask), by_lower),
                         masked(wordOp("VPSRLVW", type, a, by_upper), upper_mask));
    default: {
      Reg raised = wordOp("VPSRAVW", type, wordShift("VPSLLW", type, a, 8), by_lower);
      return joinedBytes(type, wordShift("VPSRLW", type, raised, 8),
                         masked(wordOp("VPSRAVW", type, a, by_upper), upper_mask));
    }
  }
}

}  // namespace tercel::codegen
