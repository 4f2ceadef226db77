// rng: numbers from random bits. Which numbers is ours to choose: they follow from where in its
// program the op stands, and are the same in every run.
#include <numbers>

#include "compiler/ir/builder.h"
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

using ir::Builder;
using ir::OpKind;
using ir::Value;

class RandomNumbers {
 public:
  RandomNumbers(Builder& b, Shape shape, uint64_t seed)
      : b_(b), shape_(std::move(shape)), seed_(seed) {}

  // In [low, high).
  Value uniform(Value low, Value high) {
    if (isPred(shape_.dtype)) {
      Value bit = b_.compare(bits(DType::u32), b_.splat({DType::u32, shape_.dims}, 1u << 31), "GE");
      return b_.select(bit, spread(high), spread(low));
    }
    Value first = widened(low), range = binary(OpKind::subtract_, widened(high), first);
    if (isInteger(shape_.dtype)) {
      Value any = b_.convert(bits(DType::u64), b_.shape(range).dtype);
      range = binary(OpKind::remainder_, any, range);
    } else {
      range = binary(OpKind::multiply_, unit(), range);
    }
    return b_.convert(binary(OpKind::add_, first, range), shape_.dtype);
  }

  // By the polar form of Box and Muller.
  Value normal(Value mean, Value deviation) {
    Value length = b_.unary(OpKind::log_plus_one_, b_.unary(OpKind::negate_, unit()));
    length = b_.unary(OpKind::sqrt_, binary(OpKind::multiply_, length, like(length, -2)));
    Value angle = unit();
    angle = binary(OpKind::multiply_, angle, like(angle, 2 * std::numbers::pi));
    Value number = binary(OpKind::multiply_, length, b_.unary(OpKind::cosine_, angle));
    number = binary(OpKind::multiply_, number, widened(deviation));
    return b_.convert(binary(OpKind::add_, number, widened(mean)), shape_.dtype);
  }

 private:
  Value binary(OpKind kind, Value x, Value y) { return b_.binary(kind, x, y); }
  Value like(Value v, double number) { return b_.splat(b_.shape(v), number); }
  Value spread(Value scalar) {
    return b_.broadcast(scalar, {b_.shape(scalar).dtype, shape_.dims}, {});
  }
  // The type that numbers are made in.
  DType wide() const {
    if (isInteger(shape_.dtype)) return DType::u64;
    return shape_.dtype == DType::f64 ? DType::f64 : DType::f32;
  }
  Value widened(Value scalar) { return spread(b_.convert(scalar, wide())); }

  Value bits(DType dtype) {
    const Shape state{DType::u64, {2}};
    const uint64_t words[] = {seed_, draws_++};
    const auto* bytes = reinterpret_cast<const std::byte*>(words);
    Value start = b_.constant(ir::Literal(state, {bytes, bytes + sizeof(words)}));
    const ir::Type types[] = {{state}, {Shape{dtype, shape_.dims}}};
    const ir::OpId id = b_.append(OpKind::rng_bit_generator_, {start}, types,
                                  {{ir::AttrKey::rng_algorithm, std::string("THREE_FRY")}});
    return b_.module().op(id).result(1);
  }

  // In [0, 1): random bits behind the point of a number in [1, 2), less one.
  Value unit() {
    const bool is_double = wide() == DType::f64;
    const DType word = is_double ? DType::u64 : DType::u32;
    Value mantissa = bits(word);
    mantissa = binary(OpKind::shift_right_logical_, mantissa, like(mantissa, is_double ? 12 : 9));
    Value one = b_.bitcast(b_.splat({wide(), shape_.dims}, 1), {word, shape_.dims});
    Value number = b_.bitcast(binary(OpKind::or_, mantissa, one), {wide(), shape_.dims});
    return binary(OpKind::subtract_, number, like(number, 1));
  }

  Builder& b_;
  const Shape shape_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
};

}  // namespace

Status ModuleBuilder::buildRandom(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                  Block& block) {
  const ir::Values operands = operandsOf(op);
  const uint32_t distribution = attrNamed(row, attrs, "rng_distribution");
  std::span<const ir::Type> types;
  if (op.results.count == 1)
    TERCEL_TRY(types_.leaves(wire_.value_types[op.results.begin], &types));
  if (operands.size() != 3 || types.size() != 1 || distribution == kNone)
    return invalidArgument("a wrong rng");
  const Shape shape = types[0].shape;
  const ir::Type scalar{Shape{shape.dtype, {}}};
  const bool is_normal = spellingOf(wire_.attrs[distribution]) == "NORMAL";
  if (types[0].is_token || module_.type(operands[0]) != scalar ||
      module_.type(operands[1]) != scalar || isComplex(shape.dtype) || isSmall(shape.dtype) ||
      (is_normal && !isFloat(shape.dtype)))
    return invalidArgument("rng of ", toString(shape));
  Builder b(module_, block.region);
  RandomNumbers numbers(b, shape, module_.opCount());
  return bind(op.results, {is_normal ? numbers.normal(operands[0], operands[1])
                                     : numbers.uniform(operands[0], operands[1])});
}

}  // namespace tercel::stablehlo
