#include "compiler/plan/slice_maker.h"

#include <algorithm>

namespace tercel::plan {

using ir::AttrKey;
using ir::Builder;
using ir::Cut;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

SliceMaker::SliceMaker(Builder& outside, Builder& inside, const ir::Region& body, Value first,
                       int64_t rows)
    : m_(outside.module()), outside_(outside), inside_(inside), body_(body), first_(first),
      rows_(rows), zero_(outside.splat(m_.shape(first), 0)) {}

Shape SliceMaker::shapeOf(Value v, Cut cut) const {
  Shape shape = m_.shape(v);
  if (!cut.isWhole()) shape.dims[static_cast<size_t>(cut.dimension)] = rows_ * cut.unit;
  return shape;
}

Value SliceMaker::firstLine(Cut cut) {
  if (cut.unit == 1) return first_;
  return outside_.binary(OpKind::multiply_, first_,
                         outside_.splat(m_.shape(first_), static_cast<double>(cut.unit)));
}

ir::Values SliceMaker::starts(Value array, Cut cut) {
  ir::Values list;
  for (int64_t d = 0; d < m_.shape(array).rank(); ++d)
    list.push_back(d == cut.dimension ? firstLine(cut) : zero_);
  return list;
}

Value SliceMaker::sliceOf(Builder& b, Value array, Cut cut) {
  return b.dynamicSlice(array, starts(array, cut), shapeOf(array, cut).dims);
}

Value SliceMaker::update(Builder& b, Value array, Value part, Cut cut) {
  return b.dynamicUpdateSlice(array, part, starts(array, cut));
}

Value SliceMaker::updateStack(const Op& update, Value stack, Cut cut) {
  ir::Values operands = {stack, make(update.operand(1), cut)};
  for (size_t d = 2; d < update.operands.size(); ++d)
    operands.push_back(static_cast<int64_t>(d) - 2 == cut.dimension ? first_
                                                                    : make(update.operand(d), {}));
  return inside_.build(OpKind::dynamic_update_slice_, operands);
}

bool SliceMaker::isInside(Value v) const {
  const OpId def = m_.value(v).def;
  return def.valid() && std::ranges::count(body_.ops, def) > 0;
}

Value SliceMaker::make(Value v, Cut cut) {
  if (auto at = made_.find({v.index, cut}); at != made_.end()) return at->second;
  Value made = v;
  const Op* op = m_.def(v);
  const bool splat = op && op->kind == OpKind::constant_ && op->literal().isSplat();
  if (!cut.isWhole() && splat)
    made = inside_.constant(ir::Literal::splat(shapeOf(v, cut), op->literal().bytes().data()));
  else if (isInside(v))
    made = makeInside(v, cut);
  else if (!cut.isWhole())
    made = sliceOf(outside_, v, cut);
  return made_[{v.index, cut}] = made;
}

Value SliceMaker::makeInside(Value v, Cut cut) {
  const Op& op = *m_.def(v);
  if (cut.isWhole()) return copy(v, cut, std::vector<Cut>(op.operands.size()));
  if (op.kind == OpKind::iota_ && op.integer(AttrKey::iota_dimension) != cut.dimension)
    return copy(v, cut, {});
  const auto operands = operandCuts(m_, op, cut);
  if (!operands) return sliceOf(inside_, make(v, {}), cut);
  const bool around = op.kind == OpKind::dynamic_slice_ && !isInside(op.operand(0)) &&
                      !made_.contains({op.operand(0).index, cut});
  return around ? sliceInTurn(op, cut) : copy(v, cut, *operands);
}

// Of an array from around the loop, at a place that the turn decides.
Value SliceMaker::sliceInTurn(const Op& op, Cut cut) {
  ir::Values list;
  for (size_t d = 1; d < op.operands.size(); ++d)
    list.push_back(static_cast<int64_t>(d) - 1 == cut.dimension ? firstLine(cut)
                                                                : make(op.operand(d), {}));
  return inside_.dynamicSlice(op.operand(0), list, shapeOf(op.result(), cut).dims);
}

Value SliceMaker::copy(Value v, Cut cut, const std::vector<Cut>& operands) {
  const Op& op = *m_.def(v);
  ir::Values made;
  for (size_t i = 0; i < operands.size(); ++i) made.push_back(make(op.operand(i), operands[i]));
  const OpId copied = ir::copyCut(m_, op, std::move(made), {cut.dimension, rows_ * cut.unit});
  m_.region(inside_.region()).ops.push_back(copied);
  for (size_t r = 0; r < op.results.size(); ++r) bind(op.result(r), cut, m_.op(copied).result(r));
  return made_.at({v.index, cut});
}

void SliceMaker::copyAll(const ir::Region& region, Builder& to) {
  for (OpId id : region.ops) {
    const Op& op = m_.op(id);
    ir::Values operands;
    for (Value v : op.operands) operands.push_back(make(v, {}));
    const OpId copied = ir::copyCut(m_, op, std::move(operands), ir::Part{});
    m_.region(to.region()).ops.push_back(copied);
    for (size_t r = 0; r < op.results.size(); ++r) bind(op.result(r), {}, m_.op(copied).result(r));
  }
}

}  // namespace tercel::plan
