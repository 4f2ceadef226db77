// a + b, where b is nothing but 0 around some places: b's places are added to a where it lies. The
// gradients of gathers and slices are such sums, as long as the array that those are taken of.
#include "compiler/ir/clone.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/monoid.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewest = 256;  // elements: less is added in registers

Value updated(Rewriter& rw, Value to, const Op& update) {
  constexpr int64_t kSmallestPart = 4;
  const Value part = update.operand(1);
  if (rw.shape(part).elements() * kSmallestPart > rw.shape(to).elements()) return {};
  const std::span starts = std::span(update.operands).subspan(2);
  const Value before = rw.dynamicSlice(to, starts, rw.shape(part).dims);
  return rw.dynamicUpdateSlice(to, rw.binary(OpKind::add_, before, part), starts);
}

}  // namespace

Value scatterAgain(Rewriter& rw, const Op& scatter, Values operands, bool sorted) {
  const Type type{rw.shape(operands[0])};
  Attrs attrs = scatter.attrs;
  Module& module = rw.module();
  const RegionId body = RegionCopier(module, module).copy(scatter.regions[0]);
  const OpId id = module.addOp(OpKind::scatter_, std::move(operands), {&type, 1});
  module.op(id).attrs = std::move(attrs);
  if (!sorted) module.op(id).set(AttrKey::indices_are_sorted, false);
  module.op(id).regions = {body};
  const Value result = module.op(id).result();
  return rw.place(id) ? result : rw.now(result);
}

bool isZeroAroundPlaces(const Rewriter& rw, Value v) {
  const DType dtype = rw.shape(v).dtype;
  const bool rounds_once = isHalfFloat(dtype);
  if (rw.shape(v).elements() < kFewest || isComplex(dtype) || rounds_once) return false;
  const Op* op = rw.def(v);
  if (!op) return false;
  const bool places = op->kind == OpKind::dynamic_update_slice_ ||
                      (op->kind == OpKind::scatter_ && op->operands.size() == 3 &&
                       reducerKind(rw.module(), op->regions[0]) == OpKind::add_);
  return places && isZeros(rw, op->operand(0));
}

Value sumInPlace(Rewriter& rw, Value to, Value added) {
  const Op& op = *rw.def(added);
  if (op.kind == OpKind::dynamic_update_slice_) return updated(rw, to, op);
  return scatterAgain(rw, op, {to, op.operand(1), op.operand(2)}, true);
}

}  // namespace tercel::passes
