// Lanes that change places.
#include <llvm/CodeGen/MachineRegisterInfo.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Scalar;

namespace {

// Where the list takes consecutive lanes: the first of them, else -1. Undefined lanes are any.
int firstOfRun(const std::vector<int16_t>& list) {
  int first = -1;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0) continue;
    int own = list[i] - static_cast<int>(i);
    if (own < 0 || (first >= 0 && own != first)) return -1;
    first = own;
  }
  return std::max(first, 0);
}

}  // namespace

Selector::Reg Selector::extract(const Inst& inst) {
  const Type from = typeOf(inst, 0), type = inst.type;
  Reg v = operand(inst, 0);
  if (!from.isVector()) return v;
  const int width = kernel::bitWidth(type.scalar);
  auto lane = static_cast<int>(inst.imm);
  if (type.scalar == Scalar::i1) {
    const bool wide = from.lanes == 64;
    const Type bits{wide ? Scalar::i64 : Scalar::i32, 1};
    Reg word = make(wide ? "KMOVQrk" : from.lanes == 32 ? "KMOVDrk" : "KMOVWrk", bits, {v});
    if (lane) word = make(wide ? "SHR64ri" : "SHR32ri", bits, {word}, lane);
    Reg low = copy(word, newReg("GR8"), names_.part("sub_8bit"));
    return make("AND8ri", type, {low}, 1);
  }
  if (width < 32 || registerBits(from) > 512) return refuse(), Reg();
  const int in_block = kBlockBits / width;
  const Type block{type.scalar, static_cast<uint16_t>(in_block)};
  v = blockOf(v, from, block, lane / in_block);
  lane %= in_block;
  if (lane && width == 32) v = make("VPSHUFDZ128ri", block, {v}, lane);
  if (lane && width == 64) v = make("VPERMILPDZ128ri", block, {v}, 1);
  if (isWideFloat(type.scalar)) return copy(v, newReg(type));
  return make(width == 64 ? "VMOVPQIto64Zrr" : "VMOVPDI2DIZrr", type, {v});
}

Selector::Reg Selector::blockOf(Reg v, Type from, Type block, int which) {
  if (which > 0) return make(cat("VEXTRACTF32x4", widthSuffix(from), "rr"), block, {v}, which);
  return registerBits(from) > kBlockBits ? copy(v, newReg(block), names_.part("sub_xmm")) : v;
}

Selector::Reg Selector::shuffle(const Inst& inst) {
  const Type type = inst.type;
  Type from = typeOf(inst, 0);
  if (!from.isVector() || !type.isVector() || registerBits(type) > 512 || registerBits(from) > 512)
    return refuse(), Reg();
  const int width = kernel::bitWidth(type.scalar), in_block = kBlockBits / width;
  if (width == 1) return partOfMask(inst);
  Inst whole = inst;  // of vectors that fill their registers
  for (int16_t& lane : whole.list)
    if (lane >= from.lanes && from.lanes < in_block)
      lane = static_cast<int16_t>(lane - from.lanes + in_block);
  from.lanes = std::max<uint16_t>(from.lanes, static_cast<uint16_t>(in_block));
  if (type.lanes < in_block) whole.list.resize(static_cast<size_t>(in_block), -1);
  whole.type.lanes = static_cast<uint16_t>(whole.list.size());
  return width < 32 ? shuffleBytes(whole, from) : shuffleWhole(whole, from);
}

// Lanes of bytes or words within one block. What is not taken is zero.
Selector::Reg Selector::shuffleBytes(const Inst& inst, Type from) {
  const Type type = inst.type, bytes{Scalar::i8, 16};
  if (registerBits(type) > kBlockBits || registerBits(from) > kBlockBits) return refuse(), Reg();
  const int size = kernel::bitWidth(type.scalar) / 8;
  auto taken = [&](int operand) {
    constexpr uint64_t kZero = 0x80;
    llvm::SmallVector<uint64_t, 16> places;
    bool any = false;
    for (int lane : inst.list)
      for (int byte = 0; byte < size; ++byte) {
        const int own = lane - operand * from.lanes;
        const bool is_here = lane >= 0 && own >= 0 && own < from.lanes;
        any |= is_here;
        places.push_back(is_here ? static_cast<uint64_t>(own * size + byte) : kZero);
      }
    uint64_t bits;
    if (!any || (constantBits(inst.operands[static_cast<size_t>(operand)], &bits) && bits == 0))
      return Reg();
    Reg all = this->operand(inst, static_cast<size_t>(operand));
    return make("VPSHUFBZ128rr", type, {all, lanesConstant(bytes, places)});
  };
  Reg a = taken(0), b = taken(1);
  if (!a.isValid() && !b.isValid()) return constant(type, 0);
  if (!a.isValid() || !b.isValid()) return a.isValid() ? a : b;
  return make("VPORDZ128rr", type, {a, b});
}

// Consecutive lanes of one mask, the others cleared.
Selector::Reg Selector::partOfMask(const Inst& inst) {
  const int first = firstOfRun(inst.list), lanes = inst.type.lanes, all = typeOf(inst, 0).lanes;
  if (first < 0 || first + lanes > all) return refuse(), Reg();
  const int bits = all <= 16 ? 16 : all;
  const std::string width = bits == 16 ? "W" : bits == 32 ? "D" : "Q";
  Reg mask = operand(inst, 0);
  if (const int above = bits - first - lanes; above > 0)
    mask = make(cat("KSHIFTL", width, "ri"), typeOf(inst, 0), {mask}, above);
  mask = make(cat("KSHIFTR", width, "ri"), typeOf(inst, 0), {mask}, bits - lanes);
  return copy(mask, newReg(inst.type));
}

// Lanes of 32 or 64 bits.
Selector::Reg Selector::shuffleWhole(const Inst& inst, Type from) {
  const Type type = inst.type;
  Reg a = operand(inst, 0), b = operand(inst, 1);
  const int lanes = from.lanes;
  bool uses_a = false, uses_b = false;
  for (int lane : inst.list) (lane < lanes ? uses_a : uses_b) |= lane >= 0;
  if (uses_b && !uses_a) {
    Inst turned = inst;
    for (int16_t& lane : turned.list)
      if (lane >= 0) lane = static_cast<int16_t>(lane - lanes);
    return shuffleWithin(turned, b, from);
  }
  if (!uses_b) return shuffleWithin(inst, a, from);
  if (registerBits(type) == registerBits(from)) return permute(inst, a, b, type);
  if (registerBits(type) >= 2 * registerBits(from))
    return shuffleWithin(inst, widened(a, b, from),
                         {from.scalar, static_cast<uint16_t>(2 * from.lanes)});
  if (2 * registerBits(type) == registerBits(from)) {
    Inst wide = inst;
    wide.list.resize(static_cast<size_t>(lanes), -1);
    Reg all = permute(wide, a, b, from);
    return copy(all, newReg(type), names_.part(registerBits(type) == 256 ? "sub_ymm" : "sub_xmm"));
  }
  return refuse(), Reg();
}

// Lanes of one vector.
Selector::Reg Selector::shuffleWithin(const Inst& inst, Reg a, Type from) {
  const Type type = inst.type;
  const int width = kernel::bitWidth(type.scalar), in_block = kBlockBits / width;
  const int bits = registerBits(type), from_bits = registerBits(from);
  const int first = firstOfRun(inst.list);
  if (first == 0 && bits == from_bits) return a;
  if (first == 0 && bits < from_bits)
    return copy(a, newReg(type), names_.part(bits == 256 ? "sub_ymm" : "sub_xmm"));
  if (bits < from_bits && first > 0 && (first * width) % bits == 0 && type.lanes * width == bits)
    return bits == 256 ? make("VEXTRACTF64x4Zrr", type, {a}, first * width / bits)
                       : make(cat("VEXTRACTF32x4", widthSuffix(from), "rr"), type, {a},
                              first / in_block);
  if (bits == from_bits) return permute(inst, a, Reg(), type);
  if (bits > from_bits) {
    Reg wide = newReg(type), none = undefined(type);
    const char* part = from_bits == 256 ? "sub_ymm" : "sub_xmm";
    start("INSERT_SUBREG", wide).addReg(none).addReg(a).addImm(names_.part(part));
    if (first == 0) return wide;
    return permute(inst, wide, Reg(), type);
  }
  Inst whole = inst;  // in the wider vector, of which the first lanes are taken
  whole.list.resize(static_cast<size_t>(from.lanes), -1);
  Reg all = permute(whole, a, Reg(), from);
  return copy(all, newReg(type), names_.part(bits == 256 ? "sub_ymm" : "sub_xmm"));
}

// Two vectors as one.
Selector::Reg Selector::widened(Reg a, Reg b, Type half) {
  const Type type{half.scalar, static_cast<uint16_t>(2 * half.lanes)};
  const bool of256 = registerBits(half) == 256;
  Reg none = undefined(type), low = newReg(type);
  start("INSERT_SUBREG", low).addReg(none).addReg(a).addImm(
      names_.part(of256 ? "sub_ymm" : "sub_xmm"));
  return make(of256 ? "VINSERTF64x4Zrr" : "VINSERTF32x4Z256rr", type, {low, b}, 1);
}

}  // namespace tercel::codegen
