// Numbers: in registers made in the function's entry, or operands in memory.
#include <llvm/CodeGen/MachineConstantPool.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

bool Selector::constantBits(V v, uint64_t* bits) const {
  const Inst* inst = kernel_.def(v);
  if (!inst || inst->op != Opcode::constant) return false;
  if (bits) *bits = static_cast<uint64_t>(inst->imm);
  return true;
}

const kernel::Inst* Selector::repeatedOperand(V v) const {
  const Inst* inst = kernel_.def(v);
  const bool fits = inst && inst->op == Opcode::constant && inst->type.isVector() &&
                    kernel::bitWidth(inst->type.scalar) >= 32 && inst->imm != 0 &&
                    kernel::bitWidth(inst->type.scalar) * inst->type.lanes >= 128;
  return fits && uses_[v.index] == 1 && !values_[v.index].isValid() ? inst : nullptr;
}

void Selector::addPool(Builder& inst, llvm::Constant* value, uint64_t bytes) {
  const llvm::Align align(bytes);
  unsigned index = function_.getConstantPool()->getConstantPoolIndex(value, align);
  inst.addReg(names_.physical("RIP")).addImm(1).addReg(0).addConstantPoolIndex(index).addReg(0);
  inst.addMemOperand(function_.getMachineMemOperand(
      llvm::MachinePointerInfo::getConstantPool(function_),
      llvm::MachineMemOperand::MOLoad | llvm::MachineMemOperand::MOInvariant |
          llvm::MachineMemOperand::MODereferenceable,
      bytes, align));
}

void Selector::addRepeated(Builder& inst, const Inst& number) {
  const auto width = static_cast<unsigned>(kernel::bitWidth(number.type.scalar));
  auto* element = llvm::IntegerType::get(function_.getFunction().getContext(), width);
  addPool(inst, llvm::ConstantInt::get(element, static_cast<uint64_t>(number.imm)), width / 8);
}

Selector::Reg Selector::constant(Type type, uint64_t bits) {
  // Vectors of floats are those of the same bits; a float alone is in another kind of register.
  const int width = kernel::bitWidth(type.scalar);
  const bool is_float_alone = !type.isVector() && isWideFloat(type.scalar);
  Reg& known = constants_[{is_float_alone ? -width : width, type.lanes, bits}];
  if (!known.isValid()) known = makeConstant(type, bits);
  return known;
}

Selector::Reg Selector::makeConstant(Type type, uint64_t bits) {
  const int width = kernel::bitWidth(type.scalar);
  llvm::LLVMContext& context = function_.getFunction().getContext();
  auto number = [&](unsigned size) {
    return llvm::ConstantInt::get(llvm::IntegerType::get(context, size), bits);
  };
  if (type.isVector() && type.scalar != Scalar::i1) {
    const int all = std::max(width * type.lanes, 128);
    if (all > 512) return refuse(), Reg();
    return vectorConstant(
        type, llvm::ConstantVector::getSplat(
                  llvm::ElementCount::getFixed(static_cast<unsigned>(all / width)),
                  number(static_cast<unsigned>(width))));
  }
  if (type.isVector()) {
    const uint64_t ones = type.lanes == 64 ? ~uint64_t{0} : (uint64_t{1} << type.lanes) - 1;
    return maskConstant(type.lanes, bits & 1 ? ones : 0);
  }
  Reg result = newReg(type);
  auto at = [&](const std::string& name) { return startIn(*entry_, entry_->end(), name, result); };
  if (isWideFloat(type.scalar)) {
    const bool wide = width == 64;
    if (bits == 0) {
      at(wide ? "AVX512_FsFLD0SD" : "AVX512_FsFLD0SS");
    } else {
      Builder inst = at(wide ? "VMOVSDZrm_alt" : "VMOVSSZrm_alt");
      addPool(inst, number(static_cast<unsigned>(width)), static_cast<uint64_t>(width / 8));
    }
  } else if (width == 64) {
    const auto n = static_cast<int64_t>(bits);
    at(n == static_cast<int32_t>(n) ? "MOV64ri32" : "MOV64ri").addImm(n);
  } else {
    const auto n = static_cast<int64_t>(bits);
    at(width <= 8 ? "MOV8ri" : width == 16 ? "MOV16ri" : "MOV32ri")
        .addImm(width == 32 ? static_cast<int32_t>(n) : width == 16 ? static_cast<int16_t>(n)
                                                                    : static_cast<int8_t>(n));
  }
  return result;
}

// A bit for each lane.
Selector::Reg Selector::maskConstant(int lanes, uint64_t bits) {
  Reg& known = constants_[{-1, lanes, bits}];
  if (known.isValid()) return known;
  known = newReg(Type{Scalar::i1, static_cast<uint16_t>(lanes)});
  Reg word = constant({lanes == 64 ? Scalar::i64 : Scalar::i32, 1}, bits);
  const char* name = lanes == 64 ? "KMOVQkr" : lanes == 32 ? "KMOVDkr" : "KMOVWkr";
  auto inst = startIn(*entry_, entry_->end(), name, known).addReg(word);
  finish(*inst);
  return known;
}

Selector::Reg Selector::vectorConstant(Type type, llvm::Constant* value) {
  const int bits = registerBits(type);
  Reg result = newReg(type);
  if (refused_) return result;
  if (value->isNullValue()) {
    startIn(*entry_, entry_->end(), cat("AVX512_", bits, "_SET0"), result);
    return result;
  }
  Builder inst = startIn(*entry_, entry_->end(),
                         cat("VMOVAPS", widthSuffix(type), "rm"), result);
  addPool(inst, value, static_cast<uint64_t>(bits / 8));
  return result;
}

Selector::Reg Selector::lanesConstant(Type type, llvm::ArrayRef<uint64_t> lanes) {
  llvm::LLVMContext& context = function_.getFunction().getContext();
  const auto width = static_cast<unsigned>(kernel::bitWidth(type.scalar));
  auto* element = llvm::IntegerType::get(context, width);
  llvm::SmallVector<llvm::Constant*, 64> all;
  for (uint64_t lane : lanes) all.push_back(llvm::ConstantInt::get(element, lane));
  while (all.size() * width < 128) all.push_back(llvm::ConstantInt::get(element, 0));
  return vectorConstant(type, llvm::ConstantVector::get(all));
}

}  // namespace tercel::codegen
