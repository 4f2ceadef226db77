#include "compiler/plan/flat_loop.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Builder;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::RegionId;
using ir::Type;
using ir::Value;

class Flattening {
 public:
  Flattening(Builder& before, const Op& loop, int64_t unit)
      : m_(before.module()), before_(before), loop_(loop), unit_(unit) {}

  std::optional<OpId> run() {
    const auto array = std::ranges::find_if(loop_.operands, [&](Value v) { return isArray(v); });
    if (array == loop_.operands.end()) return {};
    elements_ = m_.shape(*array).elements();
    if (elements_ < 2) return {};
    padded_ = (elements_ + unit_ - 1) / unit_ * unit_;
    if (padded_ > std::numeric_limits<int32_t>::max()) return {};  // places are counted so
    ir::Values operands;
    std::vector<Type> types;
    for (Value v : loop_.operands) {
      if (m_.type(v).is_token || !fits(v)) return {};
      operands.push_back(fromOutside(v));
      types.push_back(m_.type(operands.back()));
    }
    std::vector<RegionId> regions;
    for (RegionId region : loop_.regions) {
      regions.push_back(m_.addRegion());
      if (!copyRegion(m_.region(region), regions.back(), types)) return {};
    }
    const OpId made = m_.addOp(OpKind::while_, std::move(operands), types);
    m_.op(made).loc = loop_.loc;
    m_.op(made).regions = {regions[0], regions[1]};
    return made;
  }

 private:
  bool isArray(Value v) const { return !m_.type(v).is_token && m_.shape(v).rank() > 0; }
  bool fits(Value v) const { return !isArray(v) || m_.shape(v).elements() == elements_; }

  Value fromOutside(Value v) {
    if (!isArray(v)) return v;
    auto [at, fresh] = made_.try_emplace(v.index);
    if (fresh) at->second = flat(v);
    return at->second;
  }

  Value flat(Value v) {
    if (m_.shape(v).rank() > 1) v = before_.reshape(v, {elements_});
    if (padded_ == elements_) return v;
    const Value zero = before_.splat({m_.shape(v).dtype, {}}, 0);
    return before_.pad(v, zero, {0}, {padded_ - elements_}, {0});
  }

  bool copyRegion(const ir::Region& from, RegionId to, const std::vector<Type>& types) {
    for (size_t i = 0; i < from.args.size(); ++i)
      made_[from.args[i].index] = m_.addArg(to, types[i]);
    for (OpId id : from.ops)
      if (!copy(m_.op(id), to)) return false;
    for (Value v : from.results) {
      if (!fits(v)) return false;
      m_.region(to).results.push_back(part(v));
    }
    return true;
  }

  // Which changes nothing here.
  bool isReshape(const Op& op) const {
    return op.kind == OpKind::reshape_ && isArray(op.operand(0)) && isArray(op.result());
  }

  bool isElementByElement(const Op& op) const {
    if (op.results.size() != 1 || !op.regions.empty() || isCallOrControl(op)) return false;
    if (!fits(op.result()) || !std::ranges::all_of(op.operands, [&](Value v) { return fits(v); }))
      return false;
    if (op.kind == OpKind::constant_) return op.literal().isSplat() || !isArray(op.result());
    if (op.kind == OpKind::broadcast_in_dim_) return !isArray(op.operand(0));
    return ir::isElementwise(op.kind) || isReshape(op);
  }

  bool copy(const Op& op, RegionId to) {
    if (!isElementByElement(op)) return false;
    Shape shape = m_.shape(op.result());
    if (isArray(op.result())) shape.dims = {padded_};
    Builder b(m_, to, op.loc);
    ir::Values operands;
    for (Value v : op.operands) operands.push_back(part(v));
    Value& made = made_[op.result().index];
    if (isReshape(op)) {
      made = operands[0];
    } else if (op.kind == OpKind::constant_ && isArray(op.result())) {
      made = b.constant(ir::Literal::splat(shape, op.literal().bytes().data()));
    } else {
      const Type types[] = {Type{shape}};
      const OpId copied = b.append(op.kind, std::move(operands), types);
      m_.op(copied).attrs = op.attrs;
      made = m_.op(copied).result();
    }
    return true;
  }

  Value part(Value v) {
    const auto at = made_.find(v.index);
    return at == made_.end() ? fromOutside(v) : at->second;
  }

  ir::Module& m_;
  Builder& before_;
  const Op& loop_;
  const int64_t unit_;
  int64_t elements_ = 0, padded_ = 0;  // of all arrays, and of those of the flat loop
  std::unordered_map<uint32_t, Value> made_;
};

}  // namespace

std::optional<OpId> flatLoop(Builder& before, const Op& loop, int64_t unit) {
  return Flattening(before, loop, unit).run();
}

Value unflattened(Builder& after, Value v, const Dims& dims) {
  const int64_t elements = elementCount(dims);
  if (after.shape(v).elements() != elements) v = after.slice(v, {0}, {elements}, {1});
  return dims.size() == 1 ? v : after.reshape(v, dims);
}

}  // namespace tercel::plan
