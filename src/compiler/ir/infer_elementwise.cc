#include <array>
#include <string_view>

#include "compiler/ir/infer_rules.h"

namespace tercel::ir {
namespace {

// Bits in the order of DTypeClass.
enum Classes : uint8_t {
  kNone = 0,
  kPred = 1,
  kSigned = 2,
  kUnsigned = 4,
  kFloat = 8,
  kComplex = 16,
  kInt = kSigned | kUnsigned,
  kBits = kPred | kInt,
  kReal = kInt | kFloat,
  kInexact = kFloat | kComplex,
  kNumber = kReal | kComplex,
  kSignedNumber = kSigned | kInexact,
  kAny = kPred | kNumber,
};
enum class Gives : uint8_t { same, pred, real, complex, declared };

struct Rule {
  uint8_t classes = kNone;  // of every operand
  Gives gives = Gives::same;
};

constexpr std::pair<OpKind, Rule> kRules[] = {
    {OpKind::abs_, {kSignedNumber, Gives::real}},
    {OpKind::acos_, {kFloat}},
    {OpKind::acosh_, {kFloat}},
    {OpKind::asin_, {kFloat}},
    {OpKind::asinh_, {kFloat}},
    {OpKind::atan_, {kFloat}},
    {OpKind::atanh_, {kInexact}},
    {OpKind::bessel_i0e_, {kFloat}},
    {OpKind::bessel_i1e_, {kFloat}},
    {OpKind::bitcast_convert_, {kAny, Gives::declared}},
    {OpKind::cbrt_, {kInexact}},
    {OpKind::ceil_, {kFloat}},
    {OpKind::convert_, {kAny, Gives::declared}},
    {OpKind::cosh_, {kInexact}},
    {OpKind::cosine_, {kInexact}},
    {OpKind::count_leading_zeros_, {kInt}},
    {OpKind::digamma_, {kFloat}},
    {OpKind::erf_, {kFloat}},
    {OpKind::erf_inv_, {kFloat}},
    {OpKind::erfc_, {kFloat}},
    {OpKind::exp2_, {kFloat}},
    {OpKind::exponential_, {kInexact}},
    {OpKind::exponential_minus_one_, {kInexact}},
    {OpKind::floor_, {kFloat}},
    {OpKind::imag_, {kInexact, Gives::real}},
    {OpKind::is_finite_, {kFloat, Gives::pred}},
    {OpKind::lgamma_, {kFloat}},
    {OpKind::log_, {kInexact}},
    {OpKind::log_plus_one_, {kInexact}},
    {OpKind::logistic_, {kInexact}},
    {OpKind::negate_, {kNumber}},
    {OpKind::not_, {kBits}},
    {OpKind::popcnt_, {kInt}},
    {OpKind::real_, {kInexact, Gives::real}},
    {OpKind::reduce_precision_, {kFloat}},
    {OpKind::round_nearest_afz_, {kFloat}},
    {OpKind::round_nearest_even_, {kFloat}},
    {OpKind::rsqrt_, {kInexact}},
    {OpKind::sign_, {kSignedNumber}},
    {OpKind::sine_, {kInexact}},
    {OpKind::sinh_, {kInexact}},
    {OpKind::sqrt_, {kInexact}},
    {OpKind::tan_, {kInexact}},
    {OpKind::tanh_, {kInexact}},
    {OpKind::add_, {kAny}},
    {OpKind::and_, {kBits}},
    {OpKind::atan2_, {kInexact}},
    {OpKind::compare_, {kAny, Gives::pred}},
    {OpKind::complex_, {kFloat, Gives::complex}},
    {OpKind::divide_, {kNumber}},
    {OpKind::maximum_, {kAny}},
    {OpKind::minimum_, {kAny}},
    {OpKind::multiply_, {kAny}},
    {OpKind::or_, {kBits}},
    {OpKind::power_, {kNumber}},
    {OpKind::remainder_, {kReal}},
    {OpKind::shift_left_, {kInt}},
    {OpKind::shift_right_arithmetic_, {kInt}},
    {OpKind::shift_right_logical_, {kInt}},
    {OpKind::subtract_, {kNumber}},
    {OpKind::xor_, {kBits}},
};

constexpr auto kRuleOf = [] {
  std::array<Rule, 256> table{};
  for (const auto& [kind, rule] : kRules) table[static_cast<size_t>(kind)] = rule;
  return table;
}();

uint8_t classBit(DType t) { return static_cast<uint8_t>(1u << static_cast<int>(dtypeClass(t))); }

Status checkDeclaredOne(const OpUse& use) {
  if (use.declared.size() == 1 && !use.declared[0].is_token) return {};
  return use.error("needs one declared tensor type, not ", toString(use.declared));
}

Status checkConvert(const OpUse& use) {
  TERCEL_TRY(checkDeclaredOne(use));
  if (use.declared[0].shape.dims == use.dims(0)) return {};
  return use.error("cannot give ", toString(use.declared[0]), ", the dimensions differ");
}

bool isStorageView(const Shape& small, const Shape& bytes) {
  return isSmall(small.dtype) && bytes == Shape{storageType(small.dtype), small.dims};
}

bool isPairsOf(const Shape& pairs, const Shape& complex) {
  return isComplex(complex.dtype) && pairs == pairsOf(complex);
}

// The narrower of the two types has one more dimension, the last, of as many elements as fit. With
// the same dimensions, a small type and the one it is stored in are each other's bytes. A complex number
// is a pair of real ones.
Status checkBitcast(const OpUse& use) {
  TERCEL_TRY(checkDeclaredOne(use));
  const Shape& from = use.shape(0);
  const Shape& to = use.declared[0].shape;
  if (isStorageView(from, to) || isStorageView(to, from)) return {};
  if (isPairsOf(from, to) || isPairsOf(to, from)) return {};
  bool same_family =
      isPred(from.dtype) == isPred(to.dtype) && isComplex(from.dtype) == isComplex(to.dtype);
  Dims wide = from.dims, narrow = to.dims;
  int wide_size = bitWidth(from.dtype), narrow_size = bitWidth(to.dtype);
  if (wide_size < narrow_size) {
    std::swap(wide, narrow);
    std::swap(wide_size, narrow_size);
  }
  if (wide_size != narrow_size) wide.push_back(wide_size / narrow_size);
  if (same_family && wide_size % narrow_size == 0 && wide == narrow) return {};
  return use.error("its bits do not make up ", toString(use.declared[0]));
}

bool isDefaultCompareType(std::string_view type, DType dtype) {
  if (type.empty()) return true;
  if (isFloat(dtype) || isComplex(dtype)) return type == "FLOAT";
  return type == (isSigned(dtype) ? "SIGNED" : "UNSIGNED");
}

Status checkCompare(const OpUse& use) {
  std::string_view direction = use.symbol(AttrKey::comparison_direction);
  std::string_view type = use.symbol(AttrKey::compare_type);
  DType dtype = use.shape(0).dtype;
  bool equality = direction == "EQ" || direction == "NE";
  bool order = direction == "GE" || direction == "GT" || direction == "LE" || direction == "LT";
  if (!equality && !order)
    return use.error("comparison_direction is '", direction, "', not EQ NE GE GT LE LT");
  if (isComplex(dtype) && order) return use.error("complex numbers have no order");
  if (isDefaultCompareType(type, dtype) || (type == "TOTALORDER" && isFloat(dtype))) return {};
  return use.error("compare_type ", type, " is not for ", dtypeName(dtype));
}

Status checkComplexParts(const OpUse& use) {
  DType part = use.shape(0).dtype;
  if (part == DType::f32 || part == DType::f64) return {};
  return use.error("complex numbers are made of f32 or f64");
}

Status checkReducePrecision(const OpUse& use) {
  if (use.integer(AttrKey::exponent_bits) >= 1 && use.integer(AttrKey::mantissa_bits) >= 0)
    return {};
  return use.error("needs exponent_bits >= 1 and mantissa_bits >= 0");
}

Status checkSpecial(const OpUse& use) {
  switch (use.kind) {
    case OpKind::bitcast_convert_:
      return checkBitcast(use);
    case OpKind::convert_:
      return checkConvert(use);
    case OpKind::compare_:
      return checkCompare(use);
    case OpKind::complex_:
      return checkComplexParts(use);
    case OpKind::reduce_precision_:
      return checkReducePrecision(use);
    default:
      return {};
  }
}

Types resultOf(const OpUse& use, Gives gives) {
  const auto& [dtype, dims] = use.shape(0);
  switch (gives) {
    case Gives::same:
      return oneType(dtype, dims);
    case Gives::pred:
      return oneType(DType::pred, dims);
    case Gives::real:
      return oneType(realPart(dtype), dims);
    case Gives::complex:
      return oneType(dtype == DType::f32 ? DType::c64 : DType::c128, dims);
    case Gives::declared:
      return {use.declared[0]};
  }
  __builtin_unreachable();
}

// `operand` may be a scalar beside `whole`.
Status checkScalarOrLike(const OpUse& use, size_t operand, size_t whole) {
  const Dims& dims = use.dims(operand);
  if (dims.empty() || dims == use.dims(whole)) return {};
  return use.error("operand ", operand, " is neither a scalar nor of operand ", whole,
                   "'s dimensions");
}

Result<Types> inferSelect(const OpUse& use) {
  if (!isPred(use.shape(0).dtype)) return use.error("operand 0 is not pred");
  if (use.shape(1) != use.shape(2)) return use.error("operands 1 and 2 differ");
  TERCEL_TRY(checkScalarOrLike(use, 0, 1));
  return Types{use.type(1)};
}

Result<Types> inferClamp(const OpUse& use) {
  DType dtype = use.shape(1).dtype;
  if (use.shape(0).dtype != dtype || use.shape(2).dtype != dtype)
    return use.error("the element types differ");
  TERCEL_TRY(checkScalarOrLike(use, 0, 1));
  TERCEL_TRY(checkScalarOrLike(use, 2, 1));
  return Types{use.type(1)};
}

Result<Types> inferMultiplyAdd(const OpUse& use) {
  const DType dtype = use.shape(0).dtype;
  if (dtype != DType::f32 && dtype != DType::f64)
    return use.error("is not defined for ", dtypeName(dtype));
  if (use.shape(0) != use.shape(1) || use.shape(0) != use.shape(2))
    return use.error("the operands differ");
  return Types{use.type(0)};
}

}  // namespace

Result<Types> inferElementwise(const OpUse& use) {
  if (use.kind == OpKind::select_) return inferSelect(use);
  if (use.kind == OpKind::multiply_add_) return inferMultiplyAdd(use);
  if (use.kind == OpKind::clamp_) return inferClamp(use);
  const Rule& rule = kRuleOf[static_cast<size_t>(use.kind)];
  TERCEL_CHECK(rule.classes != kNone, opName(use.kind), " has no inference rule");
  if (use.count() == 2 && use.shape(0) != use.shape(1)) return use.error("the operands differ");
  if (!(rule.classes & classBit(use.shape(0).dtype)))
    return use.error("is not defined for ", dtypeName(use.shape(0).dtype));
  TERCEL_TRY(checkSpecial(use));
  return resultOf(use, rule.gives);
}

Result<Types> inferMap(const OpUse& use) {
  if (use.count() == 0) return use.error("needs an operand");
  Types scalars;
  for (size_t i = 0; i < use.count(); ++i) {
    if (use.dims(i) != use.dims(0)) return use.error("the operands' dimensions differ");
    scalars.push_back(Type{Shape{use.shape(i).dtype, {}}});
  }
  const Ints& dimensions = use.ints(AttrKey::dimensions);
  for (size_t i = 0; i < dimensions.size(); ++i)
    if (dimensions.size() != use.dims(0).size() || dimensions[i] != static_cast<int64_t>(i))
      return use.error("dimensions ", tercel::toString(dimensions), " is not all of them in order");
  TERCEL_TRY(checkRegionArgs(use, 0, scalars));
  Types results = regionResultTypes(use, 0);
  if (results.size() != 1 || results[0].is_token || !results[0].shape.dims.empty())
    return use.error("its region returns ", toString(results), ", expected one scalar");
  return oneType(results[0].shape.dtype, use.dims(0));
}

}  // namespace tercel::ir
