#include "compiler/ir/small_types.h"

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/small_floats.h"

namespace tercel::ir {
namespace {

bool isSmallFloat(DType t) { return isSmall(t) && isFloat(t); }
bool isSmallInt(DType t) { return isSmall(t) && isInteger(t); }

// Ops that see elements as wholes, or leave what is done with them to their regions.
bool seesWholeElements(OpKind kind) {
  switch (opClass(kind)) {
    case OpClass::shape:
    case OpClass::reduce:
    case OpClass::index:
    case OpClass::control:
      return true;
    default:
      return kind == OpKind::constant_ || kind == OpKind::select_ || kind == OpKind::map_ ||
             kind == OpKind::sort_;
  }
}

// Of these it makes no difference to round a result to the type of the arithmetic first.
bool roundsAlike(OpKind kind) {
  switch (kind) {
    case OpKind::add_:
    case OpKind::subtract_:
    case OpKind::multiply_:
    case OpKind::divide_:
    case OpKind::sqrt_:
    case OpKind::minimum_:
    case OpKind::maximum_:
    case OpKind::clamp_:
    case OpKind::compare_:
    case OpKind::is_finite_:
    case OpKind::sign_:
    case OpKind::floor_:
    case OpKind::ceil_:
    case OpKind::round_nearest_afz_:
    case OpKind::round_nearest_even_: return true;
    default: return false;
  }
}

class Lowering {
 public:
  explicit Lowering(Module& module) : m_(module) {}

  void run() {
    const size_t values = m_.valueCount();
    forward_.resize(values);
    for (uint32_t i = 0; i < values; ++i) {
      original_.push_back(m_.shape(Value{i}).dtype);
      retype(Value{i}, storageType(original_[i]));
    }
    for (const Function& function : m_.functions) walk(function.body, function.name == "main");
  }

 private:
  void retype(Value v, DType dtype) {
    if (m_.type(v).is_token || m_.shape(v).dtype == dtype) return;
    m_.setType(v, {Shape{dtype, m_.shape(v).dims}});
  }
  DType originalOf(Value v) const {
    return v.index < original_.size() ? original_[v.index] : m_.shape(v).dtype;
  }
  Value now(Value v) const {
    bool moved = v.index < forward_.size() && forward_[v.index].valid();
    return moved ? forward_[v.index] : v;
  }

  void walk(RegionId id, bool is_main) {
    std::vector<OpId> todo = std::move(m_.region(id).ops);
    m_.region(id).ops.clear();
    Builder b(m_, id);
    if (is_main)
      for (Value arg : m_.region(id).args) enter(b, arg);
    for (OpId op : todo) {
      b.setLocation(m_.op(op).loc);
      for (RegionId inner : m_.op(op).regions) walk(inner, false);
      lower(b, op);
    }
    for (Value& v : m_.region(id).results) {
      const DType dtype = originalOf(v);
      v = now(v);
      if (is_main && isSmall(dtype)) v = outside(b, v, dtype);
    }
  }

  // An argument keeps its type; the value that stands for it is of bytes.
  void enter(Builder& b, Value arg) {
    const DType dtype = originalOf(arg);
    if (!isSmall(dtype)) return;
    retype(arg, dtype);
    forward_[arg.index] = inside(b, arg);
  }
  Value inside(Builder& b, Value v) {
    const Shape shape = b.shape(v);
    return cut(b, b.bitcast(v, {storageType(shape.dtype), shape.dims}), shape.dtype);
  }
  // The bits above an integer's are zeros outside, as NumPy's types have them.
  Value outside(Builder& b, Value v, DType dtype) {
    if (isSmallInt(dtype) && isSigned(dtype)) v = low(b, v, dtype);
    return b.bitcast(v, {dtype, b.shape(v).dims});
  }
  Value low(Builder& b, Value v, DType dtype) {
    return b.binary(OpKind::and_, v, b.splat(b.shape(v), (1 << bitWidth(dtype)) - 1));
  }
  // What the lowest bits of a byte mean.
  Value cut(Builder& b, Value v, DType dtype) {
    if (bitWidth(dtype) == 8) return v;
    if (!isSigned(dtype)) return low(b, v, dtype);
    Value by = b.splat(b.shape(v), 8 - bitWidth(dtype));
    return b.binary(OpKind::shift_right_arithmetic_, b.binary(OpKind::shift_left_, v, by), by);
  }

  void lower(Builder& b, OpId id) {
    Op& op = m_.op(id);
    const Values before = op.operands;
    for (Value& v : op.operands) v = now(v);
    bool small = false, small_float = false;
    for (const Values* list : {&before, static_cast<const Values*>(&op.results)})
      for (Value v : *list) {
        small |= isSmall(originalOf(v));
        small_float |= isSmallFloat(originalOf(v));
      }
    if (small && op.kind == OpKind::custom_call_) return lowerCustomCall(b, id, before);
    if (op.kind == OpKind::composite_ && small_float) asCall(op);
    if (op.kind == OpKind::constant_ && small) return lowerConstant(b, id);
    if (!small || seesWholeElements(op.kind)) return keep(b, id);
    if (op.kind == OpKind::convert_) return stand(op.result(), lowerConvert(b, op, before[0]));
    if (op.kind == OpKind::bitcast_convert_)
      return stand(op.result(), lowerBitcast(b, op, before[0]));
    const bool is_sign = op.kind == OpKind::negate_ || op.kind == OpKind::abs_;
    if (is_sign && small_float) {
      auto change = op.kind == OpKind::negate_ ? negatedSmall : absoluteSmall;
      return stand(op.result(), change(b, op.operand(0), originalOf(before[0])));
    }
    compute(b, id, before);
  }

  void keep(Builder& b, OpId id) { m_.region(b.region()).ops.push_back(id); }
  void stand(Value old, Value by) { forward_[old.index] = by; }

  // No fast path knows the order of floats from their bits.
  static void asCall(Op& op) {
    op.kind = OpKind::call_;
    std::erase_if(op.attrs, [](const auto& attr) { return attr.first != AttrKey::callee; });
  }

  void lowerConstant(Builder& b, OpId id) {
    Op& op = m_.op(id);
    const Value v = op.result();
    op.set(AttrKey::value, op.literal().withShape(m_.shape(v)));
    keep(b, id);
    stand(v, cut(b, v, originalOf(v)));
  }

  void lowerCustomCall(Builder& b, OpId id, const Values& before) {
    Op& op = m_.op(id);
    for (size_t i = 0; i < before.size(); ++i)
      if (const DType t = originalOf(before[i]); isSmall(t))
        op.operands[i] = outside(b, op.operands[i], t);
    std::vector<Type> types;
    for (Value v : op.results) {
      types.push_back(m_.type(v));
      if (!types.back().is_token) types.back().shape.dtype = originalOf(v);
    }
    const OpId call = b.append(op.kind, op.operands, types, op.attrs);
    for (size_t i = 0; i < types.size(); ++i) {
      Value result = m_.op(call).result(i);
      stand(op.result(i), isSmall(types[i].shape.dtype) ? inside(b, result) : result);
    }
  }

  // The op on bytes or, for floats, on wider ones, and its results made small again.
  void compute(Builder& b, OpId id, const Values& before) {
    Op& op = m_.op(id);
    auto wide = [&](DType t) { return roundsAlike(op.kind) ? arithmeticType(t) : DType::f32; };
    Values operands = op.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const DType t = originalOf(before[i]);
      if (isSmallFloat(t)) operands[i] = decodeSmallFloat(b, operands[i], t, wide(t));
      if (isSmallInt(t)) operands[i] = prepared(b, op.kind, operands[i], t);
    }
    std::vector<Type> types;
    for (Value v : op.results) {
      types.push_back(m_.type(v));
      if (const DType t = originalOf(v); isSmallFloat(t)) types.back().shape.dtype = wide(t);
    }
    const OpId made = b.append(op.kind, operands, types, op.attrs);
    for (size_t i = 0; i < types.size(); ++i) {
      const DType t = originalOf(op.result(i));
      Value v = m_.op(made).result(i);
      if (isSmallFloat(t)) v = encodeSmallFloat(b, v, t);
      if (isSmallInt(t)) v = finished(b, op.kind, v, t);
      stand(op.result(i), v);
    }
  }

  // Where the bits above an integer's own would be taken for its own.
  Value prepared(Builder& b, OpKind kind, Value v, DType dtype) {
    switch (kind) {
      case OpKind::popcnt_:
      case OpKind::count_leading_zeros_:
      case OpKind::shift_right_logical_:
        return isSigned(dtype) ? low(b, v, dtype) : v;
      case OpKind::shift_right_arithmetic_: {
        if (isSigned(dtype)) return v;
        const DType as_signed = dtype == DType::u2 ? DType::s2 : DType::s4;
        return cut(b, v, as_signed);
      }
      default: return v;
    }
  }
  Value finished(Builder& b, OpKind kind, Value v, DType dtype) {
    if (kind == OpKind::count_leading_zeros_)
      return b.binary(OpKind::subtract_, v, b.splat(b.shape(v), 8 - bitWidth(dtype)));
    return cut(b, v, dtype);
  }

  Value lowerConvert(Builder& b, const Op& op, Value before) {
    const DType from = originalOf(before), to = originalOf(op.result());
    Value v = op.operand(0);
    if (from == to) return v;
    if (isSmallFloat(from) && isPred(to)) return isSmallNonZero(b, v, from);
    if (isSmallFloat(to) && isPred(from)) return smallOneOrZero(b, v, to);
    if (isSmallFloat(from)) v = decodeSmallFloat(b, v, from);
    if (isSmallFloat(to)) {
      const DType wide = realPart(b.shape(v).dtype);
      const bool fits = wide == DType::f64 || wide == arithmeticType(to);
      return encodeSmallFloat(b, b.convert(v, fits ? wide : DType::f32), to);
    }
    const bool saturates = isFloat(b.shape(v).dtype) || isComplex(b.shape(v).dtype);
    v = b.convert(v, storageType(to));
    if (!isSmallInt(to)) return v;
    return saturates ? clamped(b, v, to) : cut(b, v, to);
  }

  Value clamped(Builder& b, Value v, DType dtype) {
    const int highest = (1 << (bitWidth(dtype) - (isSigned(dtype) ? 1 : 0))) - 1;
    v = b.binary(OpKind::minimum_, v, b.splat(b.shape(v), highest));
    if (isUnsigned(dtype)) return v;
    return b.binary(OpKind::maximum_, v, b.splat(b.shape(v), -highest - 1));
  }

  // Values of fewer than eight bits are parts of wider ones, the lowest bits first.
  Value lowerBitcast(Builder& b, const Op& op, Value before) {
    const DType from = originalOf(before), to = originalOf(op.result());
    const Dims& dims = m_.shape(op.result()).dims;
    Value v = op.operand(0);
    if (dims == m_.shape(before).dims) {
      // Of the same width, or the bytes of a small type.
    } else if (bitWidth(from) < 8 && bitWidth(to) > bitWidth(from)) {
      v = joined(b, asUnsigned(b, v), bitWidth(from), std::min(bitWidth(to), 8));
    } else if (bitWidth(to) < 8 && bitWidth(from) > bitWidth(to)) {
      Dims bytes = m_.shape(op.operand(0)).dims;
      if (bitWidth(from) > 8) bytes.push_back(bitWidth(from) / 8);
      v = b.bitcast(v, {DType::u8, bytes});
      v = b.reshape(parts(b, v, std::min(bitWidth(from), 8), bitWidth(to)), dims);
    }
    Value bits = b.bitcast(v, {storageType(to), dims});
    return isSmall(to) ? cut(b, bits, to) : bits;
  }
  Value asUnsigned(Builder& b, Value v) { return b.bitcast(v, {DType::u8, b.shape(v).dims}); }

  // u8[...] whose values have `width` bits -> u8[..., width / part].
  Value parts(Builder& b, Value v, int width, int part) {
    Dims single = b.shape(v).dims;
    single.push_back(1);
    Values list;
    for (int at = 0; at < width; at += part) {
      Value shifted = b.binary(OpKind::shift_right_logical_, v, b.splat(b.shape(v), at));
      Value cut = b.binary(OpKind::and_, shifted, b.splat(b.shape(v), (1 << part) - 1));
      list.push_back(b.reshape(cut, single));
    }
    return b.concatenate(list, static_cast<int64_t>(single.size()) - 1);
  }
  // u8[..., n] of values of `part` bits -> u8[..., n part / width], or without the last dimension.
  Value joined(Builder& b, Value v, int part, int width) {
    Dims dims = b.shape(v).dims;
    const int count = width / part;
    dims.back() /= count;
    dims.push_back(count);
    Value all = b.reshape(v, dims);
    Value sum;
    for (int i = 0; i < count; ++i) {
      Ints start(dims.size(), 0), limit(dims.begin(), dims.end());
      start.back() = i, limit.back() = i + 1;
      Value one = b.slice(all, start, limit, Ints(dims.size(), 1));
      one = b.binary(OpKind::and_, one, b.splat(b.shape(one), (1 << part) - 1));
      one = b.binary(OpKind::shift_left_, one, b.splat(b.shape(one), i * part));
      sum = sum.valid() ? b.binary(OpKind::or_, sum, one) : one;
    }
    dims.pop_back();
    if (dims.back() == 1) dims.pop_back();
    return b.reshape(sum, dims);
  }

  Module& m_;
  std::vector<DType> original_;  // of each value there was
  std::vector<Value> forward_;   // what stands for it; invalid: itself
};

}  // namespace

bool usesSmallTypes(const Module& module) {
  for (uint32_t i = 0; i < module.valueCount(); ++i)
    if (isSmall(module.shape(Value{i}).dtype)) return true;
  return false;
}

bool lowerSmallTypes(Module& module) {
  if (!usesSmallTypes(module)) return false;
  Lowering(module).run();
  return true;
}

}  // namespace tercel::ir
