#include "compile/op_walk.h"

#include "compile/native.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"

namespace tercel::compiler {
namespace {

using ir::OpKind;

constexpr OpKind kOps[] = {
#define OP(name, operands, regions, cls) OpKind::name##_,
#include "compiler/ir/ops.def"
};
constexpr DType kDTypes[] = {
#define DTYPE(id, name, bits, cls, type) DType::id,
#include "core/dtypes.def"
};
// More than the widest vector of any type and a tail; less than one; a scalar.
constexpr std::string_view kShapes[] = {"[5,19]", "[3]", "[]"};

bool isValid(const Use& use) {
  auto module = ir::parse(cat("module @use {\n", functionOf({&use, 1}), "\n}\n"));
  return module.ok() && ir::verify(*module).ok();
}

std::vector<std::string_view> attributesOf(OpKind kind) {
  if (kind == OpKind::reduce_precision_)
    return {" {exponent_bits = 5, mantissa_bits = 10}", " {exponent_bits = 8, mantissa_bits = 7}",
            " {exponent_bits = 4, mantissa_bits = 3}"};
  if (kind != OpKind::compare_) return {""};
  return {" {comparison_direction = EQ}", " {comparison_direction = NE}",
          " {comparison_direction = LT}", " {comparison_direction = LE}",
          " {comparison_direction = GT}", " {comparison_direction = GE}",
          " {comparison_direction = LT, compare_type = TOTALORDER}",
          " {comparison_direction = GE, compare_type = TOTALORDER}"};
}

bool declaresResult(OpKind kind) {
  return kind == OpKind::convert_ || kind == OpKind::bitcast_convert_;
}

// The dtypes that a result may have, given the operands'; the verifier picks.
std::vector<DType> resultDTypes(OpKind kind, DType operand) {
  if (declaresResult(kind)) return {std::begin(kDTypes), std::end(kDTypes)};
  std::vector<DType> types{operand, DType::pred, realPart(operand)};
  if (kind == OpKind::complex_) types.push_back(operand == DType::f64 ? DType::c128 : DType::c64);
  return types;
}

std::vector<std::string> operandsOf(OpKind kind, const std::string& type, std::string_view dtype) {
  if (kind == OpKind::select_) return {"pred" + type.substr(dtype.size()), type, type};
  if (kind == OpKind::clamp_) return {cat(dtype, "[]"), type, type};
  return std::vector<std::string>(static_cast<size_t>(opOperandCount(kind)), type);
}

std::vector<std::string> resultDims(OpKind kind, DType from, DType to, std::string_view dims) {
  std::string text(dims);
  if (kind != OpKind::bitcast_convert_ || byteSize(from) == byteSize(to)) return {text};
  std::string inner = text == "[]" ? "[" : text.substr(0, text.size() - 1) + ",";
  if (byteSize(from) > byteSize(to)) return {cat(inner, byteSize(from) / byteSize(to), "]")};
  return {text};  // narrower operands: their last dimension is added by usesOf
}

void addUses(OpKind kind, DType dtype, std::string_view dims, std::vector<Use>& uses) {
  for (std::string_view attrs : attributesOf(kind)) {
    for (DType to : resultDTypes(kind, dtype)) {
      std::string operand_dims(dims);
      if (kind == OpKind::bitcast_convert_ && byteSize(to) > byteSize(dtype)) {
        std::string inner =
            operand_dims == "[]" ? "[" : operand_dims.substr(0, dims.size() - 1) + ",";
        operand_dims = cat(inner, byteSize(to) / byteSize(dtype), "]");
      }
      for (const std::string& result : resultDims(kind, dtype, to, dims)) {
        std::string type = cat(dtypeName(dtype), operand_dims);
        Use use{operandsOf(kind, type, dtypeName(dtype)), std::string(ir::opName(kind)),
                std::string(attrs), cat(dtypeName(to), result), isComplex(dtype) || isComplex(to)};
        if (!isValid(use)) continue;
        uses.push_back(use);
        if (!declaresResult(kind)) break;
      }
      if (!declaresResult(kind) && !uses.empty() && uses.back().attrs == attrs &&
          uses.back().operands.back() == cat(dtypeName(dtype), dims))
        break;
    }
  }
}

bool isMath(OpKind kind) {
  switch (kind) {
    case OpKind::acos_: case OpKind::acosh_: case OpKind::asin_: case OpKind::asinh_:
    case OpKind::atan_: case OpKind::atanh_: case OpKind::cbrt_: case OpKind::cosh_:
    case OpKind::bessel_i0e_: case OpKind::bessel_i1e_: case OpKind::digamma_:
    case OpKind::erf_inv_: case OpKind::erfc_: case OpKind::exp2_: case OpKind::lgamma_:
    case OpKind::cosine_: case OpKind::erf_: case OpKind::exponential_:
    case OpKind::exponential_minus_one_: case OpKind::log_: case OpKind::log_plus_one_:
    case OpKind::logistic_: case OpKind::rsqrt_: case OpKind::sine_: case OpKind::sinh_:
    case OpKind::sqrt_: case OpKind::tan_: case OpKind::tanh_: case OpKind::atan2_:
    case OpKind::power_: case OpKind::divide_:
      return true;
    default: return false;
  }
}

}  // namespace

std::vector<OpKind> elementwiseOps() {
  std::vector<OpKind> ops;
  for (OpKind kind : kOps)
    if (ir::isElementwise(kind) && kind != OpKind::map_) ops.push_back(kind);
  return ops;
}

std::vector<Use> usesOf(OpKind kind) {
  std::vector<Use> uses;
  for (DType dtype : kDTypes) {
    // Conversions go from each type to each, so one shape has to do.
    size_t shapes = declaresResult(kind) || kind == OpKind::compare_ ? 1 : std::size(kShapes);
    for (size_t i = 0; i < shapes; ++i) addUses(kind, dtype, kShapes[i], uses);
  }
  return uses;
}

std::string functionOf(std::span<const Use> uses) {
  std::string args, results, body, returned;
  size_t arg = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    std::string operands;
    for (const std::string& type : uses[i].operands) {
      args += cat(arg == 0 ? "" : ", ", "%a", arg, ": ", type);
      operands += cat(operands.empty() ? "" : ", ", "%a", arg++);
    }
    body += cat("  %r", i, " = ", uses[i].op, "(", operands, ")", uses[i].attrs, " : ",
                uses[i].result, "\n");
    results += cat(i == 0 ? "" : ", ", uses[i].result);
    returned += cat(i == 0 ? "" : ", ", "%r", i);
  }
  return cat("func @main(", args, ") -> (", results, ") {\n", body, "  return ", returned, "\n}");
}

Numbers numbersFor(OpKind kind, bool complex) {
  // Complex functions of NaN and infinity are C99's only here and there, XLA's neither.
  if (kind == OpKind::multiply_add_) return Numbers::finite;
  return complex && (isMath(kind) || kind == OpKind::multiply_) ? Numbers::small : Numbers::special;
}

Closeness closenessOf(OpKind kind, bool complex) {
  if (complex && (isMath(kind) || kind == OpKind::multiply_ || kind == OpKind::abs_ ||
                  kind == OpKind::sign_))
    return Closeness::within(16);
  // StableHLO does not say which of -0 and 0 is the greater: half an ULP lets either be.
  if (kind == OpKind::maximum_ || kind == OpKind::minimum_ || kind == OpKind::clamp_)
    return Closeness::within(0.5);
  // The evaluator rounds the product, which the sum may cancel.
  if (kind == OpKind::multiply_add_) return Closeness::sums();
  return isMath(kind) ? Closeness::within(4) : Closeness::exact();
}

}  // namespace tercel::compiler
