#include "compiler/passes/rewriter.h"

#include <algorithm>

#include "core/status.h"

namespace tercel::passes {
using namespace ir;
namespace {

// Emitted ops are visited this deep and no deeper: two rules that undo each other end here.
constexpr int kMaxEmitDepth = 24;

}  // namespace

bool Rewriter::run() {
  changed_ = false;
  for (size_t i = 0; i < module_.functions.size(); ++i) walk(module_.functions[i].body, OpId{});
  return changed_;
}

Value Rewriter::now(Value v) {
  while (v.index < forward_.size() && forward_[v.index].valid()) v = forward_[v.index];
  return v;
}

void Rewriter::replace(Value old, Value by) {
  by = now(by);
  if (old == by) return;
  TERCEL_CHECK(module_.type(old) == module_.type(by), "a value of ", toString(shape(old)),
               " replaced by one of ", toString(shape(by)));
  if (old.index >= forward_.size()) forward_.resize(module_.valueCount());
  forward_[old.index] = by;
  changed_ = true;
  if (!counts_uses_ || old.index >= uses_.size()) return;
  if (by.index >= uses_.size()) uses_.resize(module_.valueCount());
  uses_[by.index] += std::exchange(uses_[old.index], 0);
}

void Rewriter::countUses() {
  counts_uses_ = true;
  uses_.assign(module_.valueCount(), 0);
  for (const Function& f : module_.functions) countUsesIn(f.body);
}

void Rewriter::countUsesIn(RegionId id) {
  for (OpId op : module_.region(id).ops) {
    use(module_.op(op).operands, 1);
    for (RegionId inner : module_.op(op).regions) countUsesIn(inner);
  }
  use(module_.region(id).results, 1);
}

void Rewriter::use(const Values& values, int32_t times) {
  if (!counts_uses_) return;
  for (Value v : values) {
    if (v.index >= uses_.size()) uses_.resize(module_.valueCount());
    uses_[v.index] += static_cast<uint32_t>(times);
  }
}

bool Rewriter::isMadeHere(Value v) const {
  const OpId by = module_.value(v).def;
  return by.index < home_.size() && home_[by.index] == region_;
}

void Rewriter::replaceAll(const Op& old, std::span<const Value> by) {
  TERCEL_CHECK(old.results.size() == by.size(), "results of ", opName(old.kind));
  for (size_t i = 0; i < by.size(); ++i) replace(old.results[i], by[i]);
}

void Rewriter::remap(Values& values) {
  for (Value& v : values) v = now(v);
}

void Rewriter::walk(RegionId id, OpId owner) {
  std::vector<OpId> todo = std::move(module_.region(id).ops);
  std::vector<OpId> out;
  out.reserve(todo.size());
  std::vector<OpId>* outer = std::exchange(out_, &out);
  const RegionId around = std::exchange(region_, id);
  enterRegion(id, owner);
  for (OpId op : todo) step(op);
  remap(module_.region(id).results);
  leaveRegion(id, owner);
  module_.region(id).ops = std::move(out);
  out_ = outer;
  region_ = around;
}

void Rewriter::step(OpId id) {
  LocId outer = std::exchange(loc_, module_.op(id).loc);
  remap(module_.op(id).operands);
  bool replaced = enter(id);
  if (replaced) {
    use(module_.op(id).operands, -1);
  } else {
    for (size_t i = 0; i < module_.op(id).regions.size(); ++i) walk(module_.op(id).regions[i], id);
    replaced = visitUncounted(id);
  }
  if (replaced)
    changed_ = true;
  else
    out_->push_back(id);
  loc_ = outer;
}

// The op's own operands do not count while it may be replaced.
bool Rewriter::visitUncounted(OpId id) {
  if (id.index >= home_.size()) home_.resize(module_.opCount());
  home_[id.index] = region_;
  use(module_.op(id).operands, -1);
  if (visit(id)) return true;
  use(module_.op(id).operands, 1);
  return false;
}

bool Rewriter::place(OpId id) {
  changed_ = true;
  if (!module_.op(id).loc.valid()) module_.op(id).loc = loc_;
  use(module_.op(id).operands, 1);
  if (depth_ < kMaxEmitDepth) {
    ++depth_;
    bool replaced = visitUncounted(id);
    --depth_;
    if (replaced) return false;
  }
  out_->push_back(id);
  return true;
}

OpId Rewriter::emitOp(OpKind kind, Values operands, std::span<const Type> types, Attrs attrs) {
  OpId id = module_.addOp(kind, std::move(operands), types);
  module_.op(id).attrs = std::move(attrs);
  place(id);
  return id;
}

Value Rewriter::emit(OpKind kind, Values operands, Shape result, Attrs attrs) {
  Type type{std::move(result)};
  OpId id = emitOp(kind, std::move(operands), {&type, 1}, std::move(attrs));
  return now(op(id).result());
}

Value Rewriter::constant(Literal literal) {
  Shape shape = literal.shape();
  return emit(OpKind::constant_, {}, std::move(shape), {{AttrKey::value, std::move(literal)}});
}

Value Rewriter::splat(Shape shape, double number) {
  return constant(Literal::splatOf(std::move(shape), number));
}

Value Rewriter::unary(OpKind kind, Value v) { return emit(kind, {v}, Shape(shape(v))); }

Value Rewriter::binary(OpKind kind, Value a, Value b) {
  return emit(kind, {a, b}, Shape(shape(a)));
}

Value Rewriter::convert(Value v, DType to) {
  if (shape(v).dtype == to) return v;
  return emit(OpKind::convert_, {v}, {to, shape(v).dims});
}

Value Rewriter::compare(Value a, Value b, std::string_view direction, std::string type) {
  Attrs attrs{{AttrKey::comparison_direction, std::string(direction)}};
  if (!type.empty()) attrs.emplace_back(AttrKey::compare_type, std::move(type));
  return emit(OpKind::compare_, {a, b}, {DType::pred, shape(a).dims}, std::move(attrs));
}

Value Rewriter::select(Value pred, Value on_true, Value on_false) {
  return emit(OpKind::select_, {pred, on_true, on_false}, Shape(shape(on_true)));
}

Value Rewriter::broadcast(Value v, Dims to, Ints broadcast_dimensions) {
  return emit(OpKind::broadcast_in_dim_, {v}, {shape(v).dtype, std::move(to)},
              {{AttrKey::broadcast_dimensions, std::move(broadcast_dimensions)}});
}

Value Rewriter::reshape(Value v, Dims to) {
  if (shape(v).dims == to) return v;
  return emit(OpKind::reshape_, {v}, {shape(v).dtype, std::move(to)});
}

Value Rewriter::transpose(Value v, Ints permutation) {
  Shape result{shape(v).dtype, {}};
  for (int64_t d : permutation) result.dims.push_back(shape(v).dims[d]);
  return emit(OpKind::transpose_, {v}, std::move(result),
              {{AttrKey::permutation, std::move(permutation)}});
}

Value Rewriter::dynamicSlice(Value v, std::span<const Value> starts, const Dims& sizes) {
  Values operands = {v};
  for (Value start : starts) operands.push_back(start);
  return emit(OpKind::dynamic_slice_, operands, {shape(v).dtype, sizes},
              {{AttrKey::slice_sizes, Ints(sizes.begin(), sizes.end())}});
}

Value Rewriter::dynamicUpdateSlice(Value v, Value update, std::span<const Value> starts) {
  Values operands = {v, update};
  for (Value start : starts) operands.push_back(start);
  return emit(OpKind::dynamic_update_slice_, operands, shape(v));
}

Value Rewriter::reverse(Value v, Ints dimensions) {
  return emit(OpKind::reverse_, {v}, Shape(shape(v)),
              {{AttrKey::dimensions, std::move(dimensions)}});
}

Values Rewriter::reduceLike(const Op& old, Values inputs, const Ints& dimensions) {
  const size_t lanes = old.results.size();
  const Dims& dims = shape(inputs[0]).dims;
  Dims kept;
  for (size_t d = 0; d < dims.size(); ++d)
    if (std::ranges::find(dimensions, static_cast<int64_t>(d)) == dimensions.end())
      kept.push_back(dims[d]);
  std::vector<Type> types;
  for (size_t i = 0; i < lanes; ++i) {
    types.push_back(Type{Shape{shape(old.results[i]).dtype, kept}});
    inputs.push_back(old.operand(lanes + i));
  }
  const OpId id = module_.addOp(OpKind::reduce_, std::move(inputs), types);
  module_.op(id).attrs = {{AttrKey::dimensions, dimensions}};
  module_.op(id).regions = old.regions;
  Values results = op(id).results;
  place(id);
  for (Value& v : results) v = now(v);
  return results;
}

Value Rewriter::sliceAlong(Value v, size_t dimension, int64_t first, int64_t last) {
  const Dims& dims = shape(v).dims;
  Ints start(dims.size(), 0), limit(dims.begin(), dims.end());
  start[dimension] = first;
  limit[dimension] = last;
  return slice(v, start, limit, Ints(dims.size(), 1));
}

Value Rewriter::slice(Value v, Ints start, Ints limit, Ints strides) {
  Shape result{shape(v).dtype, {}};
  for (size_t d = 0; d < start.size(); ++d)
    result.dims.push_back((limit[d] - start[d] + strides[d] - 1) / strides[d]);
  return emit(OpKind::slice_, {v}, std::move(result),
              {{AttrKey::start_indices, std::move(start)},
               {AttrKey::limit_indices, std::move(limit)},
               {AttrKey::strides, std::move(strides)}});
}

Values Rewriter::inlineRegion(RegionId id, std::span<const Value> args) {
  const Values& formal = module_.region(id).args;
  TERCEL_CHECK(formal.size() == args.size(), "arguments of an inlined region");
  for (size_t i = 0; i < args.size(); ++i) replace(module_.region(id).args[i], args[i]);
  std::vector<OpId> ops = std::move(module_.region(id).ops);
  for (OpId op : ops) step(op);
  Values results = module_.region(id).results;
  remap(results);
  changed_ = true;
  return results;
}

}  // namespace tercel::passes
