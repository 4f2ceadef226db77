// Appends ops to a region. Result types are inferred (infer.h); a wrong use is a bug of the caller.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::ir {

using Attrs = std::vector<std::pair<AttrKey, Attr>>;

class Builder {
 public:
  Builder(Module& module, RegionId region, LocId loc = {})
      : module_(module), region_(region), loc_(loc) {}

  Module& module() { return module_; }
  RegionId region() const { return region_; }
  void setLocation(LocId loc) { loc_ = loc; }
  const Shape& shape(Value v) const { return module_.shape(v); }

  // The general form: types given, nothing inferred.
  OpId append(OpKind kind, Values operands, std::span<const Type> types, Attrs attrs = {});
  // Types inferred from operands and attributes; only for ops whose results follow from them.
  Value build(OpKind kind, Values operands, Attrs attrs = {});

  Value constant(Literal literal);
  Value splat(const Shape& shape, double number);  // of any dtype
  Value iota(Shape shape, int64_t dimension);
  Value unary(OpKind kind, Value v) { return build(kind, {v}); }
  Value binary(OpKind kind, Value a, Value b) { return build(kind, {a, b}); }
  Value convert(Value v, DType to);
  Value bitcast(Value v, Shape to);
  Value compare(Value a, Value b, std::string_view direction, std::string_view type = {});
  Value select(Value pred, Value on_true, Value on_false);
  Value broadcast(Value v, Shape to, Ints broadcast_dimensions);
  Value reshape(Value v, Dims to);
  Value transpose(Value v, Ints permutation);
  Value reverse(Value v, Ints dimensions);
  Value slice(Value v, Ints start, Ints limit, Ints strides);
  // starts: a single element for each dimension.
  Value dynamicSlice(Value v, std::span<const Value> starts, const Dims& sizes);
  Value dynamicUpdateSlice(Value v, Value update, std::span<const Value> starts);
  Value concatenate(Values parts, int64_t dimension);
  Value pad(Value v, Value padding_value, Ints low, Ints high, Ints interior);

 private:
  Module& module_;
  RegionId region_;
  LocId loc_;
};

}  // namespace tercel::ir
