// compare, select, clamp and the conversions.
#include "compiler/passes/constants.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/structure.h"

namespace tercel::passes {
using namespace ir;
namespace {

std::string_view swapped(std::string_view direction) {
  if (direction == "LT") return "GT";
  if (direction == "GT") return "LT";
  if (direction == "LE") return "GE";
  return direction == "GE" ? "LE" : direction;
}

// A predicate against a constant is the predicate or its negation.
Value comparePredicate(Rewriter& rw, Value a, Value b, std::string_view direction) {
  bool against_true = isAllOnes(rw, b);
  if (!against_true && !isAllZeros(rw, b)) return {};
  if (direction == "EQ") return against_true ? a : rw.unary(OpKind::not_, a);
  if (direction == "NE") return against_true ? rw.unary(OpKind::not_, a) : a;
  return {};
}

// compare(convert(pred), 0 or 1): the predicate again.
Value compareConverted(Rewriter& rw, Value a, Value b, std::string_view direction) {
  const Op* from = rw.def(a, OpKind::convert_);
  std::optional<double> number = splatNumber(rw, b);
  if (!from || !number || !isPred(rw.shape(from->operand(0)).dtype)) return {};
  if (*number != 0 && *number != 1) return {};
  Value against = rw.splat(rw.shape(from->operand(0)), *number);
  if (direction == "EQ" || direction == "NE")
    return rw.compare(from->operand(0), against, direction);
  return {};
}

Value compareRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  const std::string& direction = op.symbol(AttrKey::comparison_direction);
  if (constantOf(rw, a) && !constantOf(rw, b))
    return rw.compare(b, a, swapped(direction), op.symbol(AttrKey::compare_type));
  DType t = rw.shape(a).dtype;
  bool holds_for_equal = direction == "EQ" || direction == "LE" || direction == "GE";
  if (a == b && (isInteger(t) || isPred(t)))
    return rw.splat(rw.shape(op.result()), holds_for_equal);
  if (isPred(t)) return comparePredicate(rw, a, b, direction);
  if (isUnsigned(t) && isAllZeros(rw, b) && (direction == "LT" || direction == "GE"))
    return rw.splat(rw.shape(op.result()), direction == "GE");
  return compareConverted(rw, a, b, direction);
}

Value fullShape(Rewriter& rw, Value scalar, const Shape& like) {
  return rw.broadcast(scalar, like.dims, {});
}

// Of predicates: select is logic where a branch is constant.
Value selectPredicate(Rewriter& rw, Value p, Value a, Value b) {
  if (isAllOnes(rw, a) && isAllZeros(rw, b)) return p;
  if (isAllZeros(rw, a) && isAllOnes(rw, b)) return rw.unary(OpKind::not_, p);
  if (isAllOnes(rw, a)) return rw.binary(OpKind::or_, p, b);
  if (isAllZeros(rw, b)) return rw.binary(OpKind::and_, p, a);
  return {};
}

// What both branches compute, and nobody else reads, is computed once, of what is selected.
Value selectOperands(Rewriter& rw, Value p, Value a, Value b) {
  const Op *on_true = rw.def(a), *on_false = rw.def(b);
  if (!on_true || !on_false || !isCostly(on_true->kind) || rw.otherUses(a) + rw.otherUses(b) > 0 ||
      !StructuralEquality(rw.module()).sameExceptOperands(*on_true, *on_false))
    return {};
  const OpKind kind = on_true->kind;
  const Attrs attrs = on_true->attrs;
  Values operands = on_true->operands;
  const Values others = on_false->operands;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] != others[i]) operands[i] = rw.select(p, operands[i], others[i]);
  return rw.emit(kind, std::move(operands), rw.shape(a), attrs);
}

Value selectRule(Rewriter& rw, const Op& op) {
  Value p = op.operand(0), a = op.operand(1), b = op.operand(2);
  if (a == b) return a;
  if (isAllOnes(rw, p)) return a;
  if (isAllZeros(rw, p)) return b;
  if (rw.shape(p).rank() == 0 && rw.shape(a).rank() != 0)
    return rw.select(fullShape(rw, p, rw.shape(a)), a, b);
  const Literal *on_true = splatOf(rw, a), *on_false = splatOf(rw, b);
  if (on_true && on_false && *on_true == *on_false) return a;
  if (const Op* n = rw.def(p, OpKind::not_)) return rw.select(n->operand(0), b, a);
  const Op* in_true = rw.def(a, OpKind::select_);
  if (in_true && in_true->operand(0) == p) return rw.select(p, in_true->operand(1), b);
  const Op* in_false = rw.def(b, OpKind::select_);
  if (in_false && in_false->operand(0) == p) return rw.select(p, a, in_false->operand(2));
  if (isPred(rw.shape(a).dtype)) return selectPredicate(rw, p, a, b);
  return selectOperands(rw, p, a, b);
}

Value clampRule(Rewriter& rw, const Op& op) {
  const Shape& x = rw.shape(op.operand(1));
  Value low = op.operand(0), high = op.operand(2);
  if (x.rank() == 0 || (rw.shape(low).rank() != 0 && rw.shape(high).rank() != 0)) return {};
  if (rw.shape(low).rank() == 0) low = fullShape(rw, low, x);
  if (rw.shape(high).rank() == 0) high = fullShape(rw, high, x);
  return rw.emit(OpKind::clamp_, {low, op.operand(1), high}, x);
}

// from -> through -> to gives what from -> to gives.
bool skipsExactly(DType from, DType through, DType to) {
  if (!convertsExactly(from, through)) return false;
  if (isPred(from) || isPred(to) || convertsExactly(from, to)) return true;
  // A float that stands for a large integer saturates where an integer wraps.
  bool saturates = isInteger(from) && !isInteger(through) && isInteger(to);
  return !saturates && isComplex(from) == isComplex(to);
}

Value convertRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  DType to = rw.shape(op.result()).dtype;
  if (rw.shape(x).dtype == to) return x;
  const Op* inner = rw.def(x, OpKind::convert_);
  if (!inner) return narrowedArithmetic(rw, op);
  Value source = inner->operand(0);
  if (!skipsExactly(rw.shape(source).dtype, rw.shape(x).dtype, to)) return {};
  return rw.convert(source, to);
}

Value bitcastRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Shape& to = rw.shape(op.result());
  if (rw.shape(x) == to) return x;
  const Op* inner = rw.def(x, OpKind::bitcast_convert_);
  if (!inner || rw.shape(inner->operand(0)).dims != to.dims) return {};
  if (rw.shape(x).dims != to.dims) return {};
  return rw.emit(OpKind::bitcast_convert_, {inner->operand(0)}, to);
}

}  // namespace

Value canonicalSelection(Rewriter& rw, const Op& op) {
  switch (op.kind) {
    case OpKind::bitcast_convert_:
      return bitcastRule(rw, op);
    case OpKind::clamp_:
      return clampRule(rw, op);
    case OpKind::compare_:
      return compareRule(rw, op);
    case OpKind::convert_:
      return convertRule(rw, op);
    case OpKind::select_:
      return selectRule(rw, op);
    default:
      return {};
  }
}

}  // namespace tercel::passes
