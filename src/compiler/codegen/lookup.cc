// Lanes of one or two vectors by numbers that are known at run time.
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/by_width.h"
#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

namespace intrinsics = llvm::Intrinsic;

namespace {

struct Lookup {
  ByWidth one, two;
};
constexpr auto kNone = intrinsics::not_intrinsic;
constexpr Lookup kBytes = {
    {intrinsics::x86_avx512_permvar_qi_128, intrinsics::x86_avx512_permvar_qi_256,
     intrinsics::x86_avx512_permvar_qi_512},
    {intrinsics::x86_avx512_vpermi2var_qi_128, intrinsics::x86_avx512_vpermi2var_qi_256,
     intrinsics::x86_avx512_vpermi2var_qi_512}};
constexpr Lookup kHalves = {
    {intrinsics::x86_avx512_permvar_hi_128, intrinsics::x86_avx512_permvar_hi_256,
     intrinsics::x86_avx512_permvar_hi_512},
    {intrinsics::x86_avx512_vpermi2var_hi_128, intrinsics::x86_avx512_vpermi2var_hi_256,
     intrinsics::x86_avx512_vpermi2var_hi_512}};
constexpr Lookup kWords = {
    {kNone, intrinsics::x86_avx2_permd, intrinsics::x86_avx512_permvar_si_512},
    {kNone, intrinsics::x86_avx512_vpermi2var_d_256, intrinsics::x86_avx512_vpermi2var_d_512}};
constexpr Lookup kDoubles = {
    {kNone, intrinsics::x86_avx512_permvar_di_256, intrinsics::x86_avx512_permvar_di_512},
    {kNone, intrinsics::x86_avx512_vpermi2var_q_256, intrinsics::x86_avx512_vpermi2var_q_512}};

const Lookup& lookupOf(int64_t bytes) {
  return bytes == 1 ? kBytes : bytes == 2 ? kHalves : bytes == 4 ? kWords : kDoubles;
}

}  // namespace

llvm::Value* Emitter::emitLookup(const Inst& inst) {
  Value* index = operand(inst, 0);
  const Lookup& lookup = lookupOf(kernel::byteSize(inst.type.scalar));
  const bool is_one = inst.op == kernel::Opcode::lookup;
  const intrinsics::ID id = (is_one ? lookup.one : lookup.two).of(index->getType());
  TERCEL_CHECK(target_.lookup_bytes > 0 && id != kNone, kernel::toString(inst.type), " on ",
               target_.cpu);
  auto table = [&](size_t i) { return ir_.CreateBitCast(operand(inst, i), index->getType()); };
  Value* found = is_one ? ir_.CreateIntrinsic(id, {}, {table(1), index})
                        : ir_.CreateIntrinsic(id, {}, {table(1), index, table(2)});
  return ir_.CreateBitCast(found, type(inst.type));
}

}  // namespace tercel::codegen
