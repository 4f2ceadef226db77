// The ops that are algorithms.
#include "compiler/ir/infer_rules.h"

namespace tercel::ir {
namespace {

bool isInexact(DType t) { return isFloat(t) || isComplex(t); }

// Matrices in the last two dimensions, square ones.
Status checkSquare(const OpUse& use, size_t operand) {
  const Dims& dims = use.dims(operand);
  if (!isInexact(use.shape(operand).dtype))
    return use.error("is not defined for ", dtypeName(use.shape(operand).dtype));
  if (dims.size() >= 2 && dims.back() == dims[dims.size() - 2]) return {};
  return use.error("operand ", operand, " is not made of square matrices");
}

}  // namespace

// The first operand and, for the gradient, the last are arrays; the others have an element for each
// feature.
Result<Types> inferBatchNorm(const OpUse& use) {
  const bool is_grad = use.kind == OpKind::batch_norm_grad_;
  const Shape& operand = use.shape(0);
  if (!isFloat(operand.dtype)) return use.error("is not defined for ", dtypeName(operand.dtype));
  TERCEL_TRY(checkInRange(use, AttrKey::feature_index, operand.rank()));
  const int64_t features = operand.dims[static_cast<size_t>(use.integer(AttrKey::feature_index))];
  const Type whole = use.type(0), each{Shape{operand.dtype, {features}}};
  for (size_t i = 1; i < use.count(); ++i) {
    const Type& expected = is_grad && i + 1 == use.count() ? whole : each;
    if (use.type(i) != expected)
      return use.error("operand ", i, " is not a ", toString(expected));
  }
  if (use.kind == OpKind::batch_norm_inference_) return Types{whole};
  return Types{whole, each, each};
}

Result<Types> inferCholesky(const OpUse& use) {
  TERCEL_TRY(checkSquare(use, 0));
  return Types{use.type(0)};
}

// All kinds but RFFT and IRFFT leave the dimensions as they are; those have half of the last one's
// elements and one more where it is complex.
Result<Types> inferFft(const OpUse& use) {
  const std::string_view type = use.symbol(AttrKey::fft_type);
  const bool to_real = type == "IRFFT", from_real = type == "RFFT";
  if (!to_real && !from_real && type != "FFT" && type != "IFFT")
    return use.error("fft_type is '", type, "', not FFT IFFT RFFT IRFFT");
  const Shape& in = use.shape(0);
  const Ints& lengths = use.ints(AttrKey::fft_length);
  if (lengths.empty() || lengths.size() > 3 || static_cast<int64_t>(lengths.size()) > in.rank())
    return use.error("fft_length has ", lengths.size(), " elements");
  const DType real = realPart(in.dtype);
  if ((real != DType::f32 && real != DType::f64) || isComplex(in.dtype) == from_real)
    return use.error(type, " of ", dtypeName(in.dtype));
  Dims dims = in.dims, expected = in.dims;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) return use.error("fft_length has a negative element");
    const size_t d = dims.size() - lengths.size() + i;
    expected[d] = dims[d] = lengths[i];
  }
  const int64_t half = lengths.back() == 0 ? 0 : lengths.back() / 2 + 1;
  if (to_real) expected.back() = half;
  if (expected != in.dims) return use.error("its dimensions do not fit fft_length");
  if (from_real) dims.back() = half;
  const DType complex = real == DType::f32 ? DType::c64 : DType::c128;
  return oneType(to_real ? real : complex, std::move(dims));
}

Result<Types> inferTriangularSolve(const OpUse& use) {
  TERCEL_TRY(checkSquare(use, 0));
  const std::string_view form = use.symbol(AttrKey::transpose_a);
  if (form != "NO_TRANSPOSE" && form != "TRANSPOSE" && form != "ADJOINT")
    return use.error("transpose_a is '", form, "', not NO_TRANSPOSE TRANSPOSE ADJOINT");
  const Attr* left = use.find(AttrKey::left_side);
  const bool left_side = left && std::get<bool>(*left);
  const Dims &a = use.dims(0), &b = use.dims(1);
  bool fits = a.size() == b.size() && use.shape(0).dtype == use.shape(1).dtype;
  for (size_t d = 0; fits && d + 2 < a.size(); ++d) fits = a[d] == b[d];
  fits = fits && b[b.size() - (left_side ? 2 : 1)] == a.back();
  if (!fits) return use.error("the operands do not fit");
  return Types{use.type(1)};
}

}  // namespace tercel::ir
