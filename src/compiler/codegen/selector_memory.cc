#include <llvm/CodeGen/MachineRegisterInfo.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

Selector::Address Selector::addressOf(const Inst& inst) {
  const auto buffer = static_cast<size_t>(inst.imm);
  const int64_t bytes = kernel::byteSize(kernel_.buffers[buffer].element);
  Address address{.base = buffers_[buffer], .scale = bytes, .offset = inst.offset,
                  .memory = memory_[buffer]};
  V index = inst.operands[0];
  uint64_t bits;
  // What is added to the index is added to the address.
  for (const Inst* def; (def = kernel_.def(index)) && def->op == Opcode::iadd &&
                        constantBits(def->operands[1], &bits);
       index = def->operands[0])
    address.offset += static_cast<int64_t>(bits);
  if (constantBits(index, &bits))
    address.offset += static_cast<int64_t>(bits);
  else
    address.index = value(index);
  address.offset *= bytes;
  if (address.offset != static_cast<int32_t>(address.offset)) {
    address.base = make("ADD64rr", {Scalar::i64, 1},
                        {address.base, constant({Scalar::i64, 1},
                                                static_cast<uint64_t>(address.offset))});
    address.offset = 0;
  }
  return address;
}

void Selector::addAddress(Builder& inst, const Address& address, bool is_store, uint64_t bytes) {
  inst.addReg(address.base).addImm(address.scale).addReg(address.index);
  inst.addImm(address.offset).addReg(0);
  using Flags = llvm::MachineMemOperand;
  inst.addMemOperand(function_.getMachineMemOperand(
      llvm::MachinePointerInfo(address.memory),
      is_store ? Flags::MOStore : Flags::MOLoad, bytes, llvm::Align(1)));
}

namespace {

// Of whole vectors, without a mask.
std::string moveName(kernel::Type type) {
  const int bits = kernel::bitWidth(type.scalar) * type.lanes;
  return cat(isWideFloat(type.scalar) ? "VMOVUPS" : "VMOVDQU64", widthSuffix(bits));
}

std::string maskedName(kernel::Type type) {
  const char* stem = type.scalar == Scalar::f32 ? "VMOVUPS" : type.scalar == Scalar::f64 ? "VMOVUPD"
                     : kernel::bitWidth(type.scalar) == 64 ? "VMOVDQU64"
                     : kernel::bitWidth(type.scalar) == 32 ? "VMOVDQU32"
                     : kernel::bitWidth(type.scalar) == 16 ? "VMOVDQU16" : "VMOVDQU8";
  return cat(stem, widthSuffix(type));
}

}  // namespace

Selector::Reg Selector::load(const Inst& inst, Reg mask) {
  Type type = inst.type;
  if (type.scalar == Scalar::i1) type.scalar = Scalar::i8;
  const int bits = kernel::bitWidth(type.scalar) * type.lanes;
  if (registerBits(type) > 512) return refuse(), Reg();
  std::string name;
  if (!type.isVector()) {
    name = type.scalar == Scalar::f32   ? "VMOVSSZrm_alt"
           : type.scalar == Scalar::f64 ? "VMOVSDZrm_alt"
                                        : cat("MOV", bits, "rm");
  } else if (mask.isValid()) {
    name = maskedName(type) + "rmkz";
  } else if (bits >= 128) {
    name = moveName(type) + "rm";
  } else if (bits == 64 || bits == 32) {
    name = bits == 64 ? "VMOVQI2PQIZrm" : "VMOVDI2PDIZrm";
  } else {
    return refuse(), Reg();
  }
  Address address = addressOf(inst);
  Reg result = newReg(type);
  Builder built = start(name, result);
  if (mask.isValid()) built.addReg(mask);
  addAddress(built, address, false, static_cast<uint64_t>(bits / 8));
  finish(*built);
  if (inst.type.scalar != Scalar::i1) return result;
  if (!inst.type.isVector()) {
    finish(*start("TEST8rr", {}).addReg(result).addReg(result));
    Reg set = newReg("GR8");
    start("SETCCr", set).addImm(static_cast<int>(Condition::not_equal));
    return set;
  }
  return make(cat("VPTESTMB", widthSuffix(type), "rr"), inst.type, {result, result});
}

void Selector::loadRepeated(const Inst& inst, const Inst& splat) {
  const Type type = splat.type;
  if (registerBits(type) > 512) return refuse();
  const char* stem = type.scalar == Scalar::f32   ? "VBROADCASTSS"
                     : type.scalar == Scalar::i32 ? "VPBROADCASTD"
                     : type.scalar == Scalar::i64 ? "VPBROADCASTQ"
                     : registerBits(type) == 128  ? "VMOVDDUP"
                                                  : "VBROADCASTSD";
  Address address = addressOf(inst);
  Reg result = newReg(type);
  Builder built = start(cat(stem, widthSuffix(type), "rm"), result);
  addAddress(built, address, false, static_cast<uint64_t>(kernel::byteSize(type.scalar)));
  finish(*built);
  values_[splat.results[0].index] = values_[inst.results[0].index] = result;
}

void Selector::store(const Inst& inst, Reg mask) {
  Type type = inst.type;
  Reg stored = operand(inst, 1);
  if (type.scalar == Scalar::i1) {
    type.scalar = Scalar::i8;
    if (registerBits(type) > 512) return refuse();
    if (type.isVector()) stored = fromMask(stored, type);
  }
  const int bits = kernel::bitWidth(type.scalar) * type.lanes;
  if (registerBits(type) > 512) return refuse();
  std::string name;
  if (inst.op == Opcode::store_streaming) {
    if (bits < 128) return refuse();
    name = cat("VMOVNTPS", widthSuffix(bits), "mr");
  } else if (!type.isVector()) {
    name = type.scalar == Scalar::f32   ? "VMOVSSZmr"
           : type.scalar == Scalar::f64 ? "VMOVSDZmr"
                                        : cat("MOV", bits, "mr");
  } else if (mask.isValid()) {
    name = maskedName(type) + "mrk";
  } else if (bits >= 128) {
    name = moveName(type) + "mr";
  } else if (bits == 64 || bits == 32) {
    name = bits == 64 ? "VMOVPQI2QIZmr" : "VMOVPDI2DIZmr";
  } else {
    return refuse();
  }
  Address address = addressOf(inst);
  Builder built = start(name, {});
  addAddress(built, address, true, static_cast<uint64_t>(bits / 8));
  if (mask.isValid()) built.addReg(mask);
  built.addReg(stored);
  finish(*built);
}

void Selector::memory(const Inst& inst) {
  switch (inst.op) {
    case Opcode::load:
      if (const Inst* splat = splat_[inst.results[0].index]) return loadRepeated(inst, *splat);
      values_[inst.results[0].index] = load(inst, {});
      return;
    case Opcode::load_masked:
      if (!inst.type.isVector()) return refuse();
      values_[inst.results[0].index] = load(inst, operand(inst, 1));
      return;
    case Opcode::gather: values_[inst.results[0].index] = gather(inst); return;
    case Opcode::scatter: return scatter(inst);
    case Opcode::store: case Opcode::store_streaming: return store(inst, {});
    case Opcode::store_masked:
      if (!inst.type.isVector()) return refuse();
      return store(inst, operand(inst, 2));
    case Opcode::prefetch: {
      Address address = addressOf(inst);
      Builder built = start("PREFETCHT0", {});
      addAddress(built, address, false, 1);
      finish(*built);
      return;
    }
    default: refuse();
  }
}

}  // namespace tercel::codegen
