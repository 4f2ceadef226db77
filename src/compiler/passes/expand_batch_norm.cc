#include "compiler/passes/expand_batch_norm.h"

#include "compiler/ir/region_builder.h"

namespace tercel::passes {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Ints;
using ir::Op;
using ir::OpKind;
using ir::Value;
using ir::Values;

class BatchNorm {
 public:
  BatchNorm(Builder& b, const Op& op)
      : b_(b),
        op_(op),
        shape_(b.shape(op.operand(0))),
        feature_(op.integer(AttrKey::feature_index)),
        wide_(shape_.dtype == DType::f64 ? DType::f64 : DType::f32) {
    for (int64_t d = 0; d < shape_.rank(); ++d)
      if (d != feature_) summed_.push_back(d);
    count_ = 1;
    for (int64_t d : summed_) count_ *= shape_.dims[static_cast<size_t>(d)];
  }

  Values expand() {
    switch (op_.kind) {
      case OpKind::batch_norm_training_: return training();
      case OpKind::batch_norm_inference_:
        return {narrow(normalised(operand(1), operand(2), operand(3), operand(4)))};
      default: return gradient();
    }
  }

 private:
  Value operand(size_t i) { return b_.convert(op_.operand(i), wide_); }
  Value narrow(Value v) { return b_.convert(v, shape_.dtype); }
  Value binary(OpKind kind, Value x, Value y) { return b_.binary(kind, x, y); }
  Value multiply(Value x, Value y) { return binary(OpKind::multiply_, x, y); }
  Value number(Value like, double n) { return b_.splat(b_.shape(like), n); }
  Value spread(Value each) { return b_.broadcast(each, {wide_, shape_.dims}, {feature_}); }
  Value sum(Value v) { return ir::sumOver(b_, v, summed_); }
  Value mean(Value v) {
    Value total = sum(v);
    return binary(OpKind::divide_, total, number(total, static_cast<double>(count_)));
  }
  Value padded(Value variance) {
    const double epsilon = std::get<double>(*op_.find(AttrKey::epsilon));
    return binary(OpKind::add_, variance, number(variance, epsilon));
  }
  Value deviation(Value mean) { return binary(OpKind::subtract_, operand(0), spread(mean)); }

  Value normalised(Value scale, Value offset, Value mean, Value variance) {
    Value factor = multiply(scale, b_.unary(OpKind::rsqrt_, padded(variance)));
    return binary(OpKind::add_, multiply(deviation(mean), spread(factor)), spread(offset));
  }

  Values training() {
    Value average = mean(operand(0)), off = deviation(average);
    Value variance = mean(multiply(off, off));
    Value result = normalised(operand(1), operand(2), average, variance);
    return {narrow(result), narrow(average), narrow(variance)};
  }

  Values gradient() {
    Value off = deviation(operand(2)), given = operand(4), spare = padded(operand(3));
    Value inverse = b_.unary(OpKind::rsqrt_, spare);
    Value total = sum(given), along = sum(multiply(given, off));
    Value slope = binary(OpKind::divide_, along, spare);
    Value inner = multiply(given, number(given, static_cast<double>(count_)));
    inner = binary(OpKind::subtract_, inner, spread(total));
    inner = binary(OpKind::subtract_, inner, multiply(off, spread(slope)));
    Value factor = multiply(operand(1), inverse);
    factor = binary(OpKind::divide_, factor, number(factor, static_cast<double>(count_)));
    return {narrow(multiply(inner, spread(factor))), narrow(multiply(along, inverse)),
            narrow(total)};
  }

  Builder& b_;
  const Op& op_;
  const Shape shape_;
  const int64_t feature_;
  const DType wide_;
  Ints summed_;
  int64_t count_;
};

}  // namespace

Values expandBatchNorm(Builder& b, const Op& op) { return BatchNorm(b, op).expand(); }

}  // namespace tercel::passes
