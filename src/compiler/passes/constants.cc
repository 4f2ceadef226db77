#include "compiler/passes/constants.h"

#include <cmath>

namespace tercel::passes {
using namespace ir;
namespace {

// Bits of precision of a float's significand, the hidden one included; 0 for types we do not rank.
int significandBits(DType t) {
  switch (t) {
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    case DType::f32:
    case DType::c64:
      return 24;
    case DType::f64:
    case DType::c128:
      return 53;
    default:
      return 0;
  }
}

int exponentBits(DType t) {
  return t == DType::f16 ? 5 : t == DType::f64 || t == DType::c128 ? 11 : 8;
}

bool everyByte(const Literal& literal, std::byte byte) {
  for (std::byte b : literal.bytes())
    if (b != byte) return false;
  return true;
}

}  // namespace

const Literal* constantOf(const Rewriter& rw, Value v) {
  const Op* op = rw.def(v, OpKind::constant_);
  return op ? &op->literal() : nullptr;
}

const Literal* splatOf(const Rewriter& rw, Value v) {
  const Literal* literal = constantOf(rw, v);
  if (!literal) return nullptr;
  return literal->isSplat() || literal->shape().elements() == 1 ? literal : nullptr;
}

std::optional<double> splatNumber(const Rewriter& rw, Value v) {
  const Literal* literal = splatOf(rw, v);
  if (!literal || isComplex(literal->shape().dtype)) return {};
  double number = literal->number(0);
  // Larger integers may have been rounded.
  if (isInteger(literal->shape().dtype) && std::abs(number) > 0x1p53) return {};
  if (std::isnan(number)) return {};
  return number;
}

bool isSplat(const Rewriter& rw, Value v, double number) {
  std::optional<double> splat = splatNumber(rw, v);
  return splat && *splat == number && std::signbit(*splat) == std::signbit(number);
}

bool isAllZeros(const Rewriter& rw, Value v) {
  const Literal* literal = splatOf(rw, v);
  if (!literal || isFloat(literal->shape().dtype) || isComplex(literal->shape().dtype))
    return false;
  return everyByte(*literal, std::byte{0});
}

bool isZeros(const Rewriter& rw, Value v) { return isAllZeros(rw, v) || isSplat(rw, v, 0.0); }

bool isAllOnes(const Rewriter& rw, Value v) {
  const Literal* literal = splatOf(rw, v);
  if (!literal) return false;
  if (isPred(literal->shape().dtype)) return literal->at<bool>(0);
  return isInteger(literal->shape().dtype) && everyByte(*literal, std::byte{0xff});
}

std::optional<int64_t> scalarInteger(const Rewriter& rw, Value v) {
  const Literal* literal = splatOf(rw, v);
  if (!literal || isFloat(literal->shape().dtype) || isComplex(literal->shape().dtype)) return {};
  return visitDType(literal->shape().dtype, [&]<class T>() -> std::optional<int64_t> {
    if constexpr (std::is_integral_v<T>) {
      T value = literal->at<T>(0);
      if (std::is_same_v<T, uint64_t> && static_cast<int64_t>(value) < 0) return INT64_MAX;
      return static_cast<int64_t>(value);
    }
    return {};
  });
}

std::optional<Ints> scalarIntegers(const Rewriter& rw, std::span<const Value> values) {
  Ints numbers;
  for (Value v : values) {
    const std::optional<int64_t> number = scalarInteger(rw, v);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

Literal withShape(const Literal& splat, Dims dims) {
  return Literal::splat({splat.shape().dtype, std::move(dims)}, splat.bytes().data());
}

Literal negated(const Literal& splat) {
  return visitDType(splat.shape().dtype, [&]<class T>() {
    T value = splat.at<T>(0);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      value.bits ^= 0x8000;
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      value = static_cast<T>(uint64_t{0} - static_cast<uint64_t>(value));
    } else {
      value = static_cast<T>(-value);
    }
    return Literal::splat(splat.shape(), &value);
  });
}

bool convertsExactly(DType from, DType to) {
  if (from == to || isPred(from)) return true;
  if (isPred(to)) return false;
  int from_bits = static_cast<int>(byteSize(from)) * 8;
  int to_bits = static_cast<int>(byteSize(to)) * 8;
  if (isInteger(from) && isInteger(to)) {
    if (isSigned(from) == isSigned(to)) return from_bits <= to_bits;
    return isUnsigned(from) && from_bits < to_bits;
  }
  if (isInteger(to)) return false;
  if (isInteger(from)) {
    int needed = isSigned(from) ? from_bits - 1 : from_bits;
    return needed <= significandBits(to);
  }
  if (isComplex(from) && !isComplex(to)) return false;
  return significandBits(from) && significandBits(from) <= significandBits(to) &&
         exponentBits(from) <= exponentBits(to);
}

}  // namespace tercel::passes
