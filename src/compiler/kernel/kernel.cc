#include "compiler/kernel/kernel.h"

#include "core/status.h"

namespace tercel::kernel {
namespace {

struct Row {
  std::string_view name;
  int operands;
  InstClass cls;
};
constexpr Row kRows[] = {
#define INST(name, operands, cls) {#name, operands, InstClass::cls},
#include "compiler/kernel/insts.def"
};
constexpr std::string_view kScalars[] = {"i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32",
                                         "f64"};
constexpr int kWidths[] = {1, 8, 16, 32, 64, 16, 16, 32, 64};
constexpr std::string_view kPredicates[] = {
    "eq",  "ne",  "slt", "sle", "sgt", "sge", "ult", "ule", "ugt",  "uge",  "oeq",  "one",
    "olt", "ole", "ogt", "oge", "ord", "uno", "ueq", "une", "fult", "fule", "fugt", "fuge"};

}  // namespace

std::string_view opcodeName(Opcode op) {
  std::string_view name = kRows[static_cast<size_t>(op)].name;
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}
int opcodeOperands(Opcode op) { return kRows[static_cast<size_t>(op)].operands; }
InstClass instClass(Opcode op) { return kRows[static_cast<size_t>(op)].cls; }
int opcodeTiles(Opcode op) {
  switch (op) {
    case Opcode::tile_zero: case Opcode::tile_load: case Opcode::tile_store: return 1;
    case Opcode::tile_dot_bf16: case Opcode::tile_dot_s8s8: case Opcode::tile_dot_s8u8:
    case Opcode::tile_dot_u8s8: case Opcode::tile_dot_u8u8:
      return 3;
    default: return 0;
  }
}
bool isStore(Opcode op) {
  return op == Opcode::store || op == Opcode::store_masked || op == Opcode::store_streaming ||
         op == Opcode::scatter;
}
bool isOfShort(Opcode op, Scalar s) {
  switch (op) {
    case Opcode::fneg: case Opcode::fabs: return true;
    case Opcode::fadd: case Opcode::fsub: case Opcode::fmul: case Opcode::fdiv: case Opcode::fcmp:
      return s == Scalar::f16;
    default: return false;
  }
}
bool hasResult(Opcode op) {
  switch (op) {
    case Opcode::store: case Opcode::store_masked: case Opcode::store_streaming:
    case Opcode::scatter: case Opcode::prefetch: case Opcode::tile_load: case Opcode::tile_store:
      return false;
    case Opcode::subnormals_met: return true;
    default:
      return instClass(op) == InstClass::pure || instClass(op) == InstClass::memory;
  }
}
std::string_view scalarName(Scalar s) { return kScalars[static_cast<size_t>(s)]; }
int bitWidth(Scalar s) { return kWidths[static_cast<size_t>(s)]; }
int64_t byteSize(Scalar s) { return s == Scalar::i1 ? 1 : bitWidth(s) / 8; }
std::string_view predicateName(Predicate p) { return kPredicates[static_cast<size_t>(p)]; }

std::string toString(Type type) {
  return type.isVector() ? cat(scalarName(type.scalar), 'x', int{type.lanes})
                         : std::string(scalarName(type.scalar));
}

bool runsAtLeastOnce(const Kernel& kernel, V lo, V hi) {
  const Inst *first = kernel.def(lo), *last = kernel.def(hi);
  return first && last && first->op == Opcode::constant && last->op == Opcode::constant &&
         first->imm < last->imm;
}

}  // namespace tercel::kernel
