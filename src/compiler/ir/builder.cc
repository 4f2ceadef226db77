#include "compiler/ir/builder.h"

#include "compiler/ir/infer.h"

namespace tercel::ir {
namespace {

// Infers, with the declared type for ops that need one, and fails on a wrong use.
Value appendChecked(Builder& builder, OpKind kind, Values operands, Attrs attrs,
                    std::span<const Type> declared) {
  auto types = inferTypes(builder.module(), kind, operands, attrs, {}, declared);
  TERCEL_CHECK(types.ok(), types.status().message());
  TERCEL_CHECK(types->size() == 1, opName(kind), " has ", types->size(), " results");
  OpId id = builder.append(kind, std::move(operands), *types, std::move(attrs));
  return builder.module().op(id).result();
}

Value appendAs(Builder& builder, OpKind kind, Values operands, Shape shape, Attrs attrs = {}) {
  Type type{std::move(shape)};
  return appendChecked(builder, kind, std::move(operands), std::move(attrs), {&type, 1});
}

}  // namespace

OpId Builder::append(OpKind kind, Values operands, std::span<const Type> types, Attrs attrs) {
  OpId id = module_.addOp(kind, std::move(operands), types);
  Op& op = module_.op(id);
  op.attrs = std::move(attrs);
  op.loc = loc_;
  module_.region(region_).ops.push_back(id);
  return id;
}

Value Builder::build(OpKind kind, Values operands, Attrs attrs) {
  return appendChecked(*this, kind, std::move(operands), std::move(attrs), {});
}

Value Builder::constant(Literal literal) {
  return build(OpKind::constant_, {}, {{AttrKey::value, std::move(literal)}});
}

Value Builder::splat(const Shape& shape, double number) {
  return constant(Literal::splatOf(shape, number));
}

Value Builder::iota(Shape shape, int64_t dimension) {
  return appendAs(*this, OpKind::iota_, {}, std::move(shape),
                  {{AttrKey::iota_dimension, dimension}});
}

Value Builder::convert(Value v, DType to) {
  return appendAs(*this, OpKind::convert_, {v}, Shape{to, shape(v).dims});
}

Value Builder::bitcast(Value v, Shape to) {
  return appendAs(*this, OpKind::bitcast_convert_, {v}, std::move(to));
}

Value Builder::compare(Value a, Value b, std::string_view direction, std::string_view type) {
  Attrs attrs{{AttrKey::comparison_direction, std::string(direction)}};
  if (!type.empty()) attrs.emplace_back(AttrKey::compare_type, std::string(type));
  return build(OpKind::compare_, {a, b}, std::move(attrs));
}

Value Builder::select(Value pred, Value on_true, Value on_false) {
  return build(OpKind::select_, {pred, on_true, on_false});
}

Value Builder::broadcast(Value v, Shape to, Ints broadcast_dimensions) {
  return appendAs(*this, OpKind::broadcast_in_dim_, {v}, std::move(to),
                  {{AttrKey::broadcast_dimensions, std::move(broadcast_dimensions)}});
}

Value Builder::reshape(Value v, Dims to) {
  return appendAs(*this, OpKind::reshape_, {v}, Shape{shape(v).dtype, std::move(to)});
}

Value Builder::transpose(Value v, Ints permutation) {
  return build(OpKind::transpose_, {v}, {{AttrKey::permutation, std::move(permutation)}});
}

Value Builder::reverse(Value v, Ints dimensions) {
  return build(OpKind::reverse_, {v}, {{AttrKey::dimensions, std::move(dimensions)}});
}

Value Builder::slice(Value v, Ints start, Ints limit, Ints strides) {
  return build(OpKind::slice_, {v},
               {{AttrKey::start_indices, std::move(start)},
                {AttrKey::limit_indices, std::move(limit)},
                {AttrKey::strides, std::move(strides)}});
}

Value Builder::dynamicSlice(Value v, std::span<const Value> starts, const Dims& sizes) {
  Values operands = {v};
  for (Value start : starts) operands.push_back(start);
  return build(OpKind::dynamic_slice_, std::move(operands),
               {{AttrKey::slice_sizes, Ints(sizes.begin(), sizes.end())}});
}

Value Builder::dynamicUpdateSlice(Value v, Value update, std::span<const Value> starts) {
  Values operands = {v, update};
  for (Value start : starts) operands.push_back(start);
  return build(OpKind::dynamic_update_slice_, std::move(operands));
}

Value Builder::concatenate(Values parts, int64_t dimension) {
  return build(OpKind::concatenate_, std::move(parts), {{AttrKey::dimension, dimension}});
}

Value Builder::pad(Value v, Value padding_value, Ints low, Ints high, Ints interior) {
  return build(OpKind::pad_, {v, padding_value},
               {{AttrKey::edge_padding_low, std::move(low)},
                {AttrKey::edge_padding_high, std::move(high)},
                {AttrKey::interior_padding, std::move(interior)}});
}

}  // namespace tercel::ir
