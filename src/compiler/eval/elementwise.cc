#include "compiler/eval/elementwise.h"

#include <cstring>

#include "compiler/eval/kernel.h"
#include "compiler/eval/output.h"

namespace tercel::eval {
namespace {

std::string typesOf(std::span<const DType> dtypes) {
  std::string text;
  for (DType t : dtypes) text += cat(text.empty() ? "" : ", ", dtypeName(t));
  return text;
}

Literal applyKernel(const Kernel& kernel, std::span<const Literal> operands, Shape result) {
  bool splat = true;
  for (const Literal& operand : operands) splat = splat && operand.isSplat();
  std::vector<Literal> whole;
  std::vector<const void*> in;
  for (const Literal& operand : operands) {
    whole.push_back(splat ? operand : operand.expanded());
    in.push_back(whole.back().bytes().data());
  }
  if (splat) {
    alignas(16) std::byte element[16];
    kernel(in.data(), element, 1);
    return Literal::splat(std::move(result), element);
  }
  Output out(std::move(result));
  kernel(in.data(), out.bytes(), out.shape().elements());
  return out.take();
}

}  // namespace

Kernel elementwiseKernel(const KernelRequest& request) {
  switch (request.op.kind) {
    case OpKind::bitcast_convert_:
      return bitcastKernel(request.operands[0], request.result);
    case OpKind::clamp_:
      return clampKernel(request);
    case OpKind::compare_:
      return compareKernel(request);
    case OpKind::convert_:
      return convertKernel(request.operands[0], request.result);
    case OpKind::multiply_add_:
      return multiplyAddKernel(request);
    case OpKind::reduce_precision_:
      return reducePrecisionKernel(request);
    case OpKind::select_:
      return selectKernel(request);
    default:
      break;
  }
  switch (ir::opClass(request.op.kind)) {
    case ir::OpClass::unary:
      return unaryKernel(request);
    case ir::OpClass::binary:
      return binaryKernel(request);
    default:
      return {};
  }
}

Literal spread(const Literal& literal, const Dims& dims) {
  if (literal.shape().dims == dims) return literal;
  TERCEL_CHECK(literal.shape().dims.empty(), toString(literal.shape()), " spread over ",
               toString(dims));
  return Literal::splat(Shape{literal.shape().dtype, dims}, literal.bytes().data());
}

Literal convertLiteral(const Literal& literal, DType to) {
  if (literal.shape().dtype == to) return literal;
  Kernel kernel = convertKernel(literal.shape().dtype, to);
  return applyKernel(kernel, {&literal, 1}, Shape{to, literal.shape().dims});
}

Result<Literals> evalElementwise(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape& result = evaluation.resultShape(op);
  std::vector<DType> dtypes;
  Literals spread_operands;
  for (const Literal& operand : operands) {
    dtypes.push_back(operand.shape().dtype);
    spread_operands.push_back(spread(operand, result.dims));
  }
  Kernel kernel = elementwiseKernel({op, dtypes, result.dtype});
  if (!kernel) return unimplemented("no meaning on ", typesOf(dtypes));
  return Literals{applyKernel(kernel, spread_operands, result)};
}

// Rows of bytes, whatever the widths: the first of the narrow elements is the least significant.
Result<Literals> evalBitcastConvert(Evaluation& evaluation, const Op& op, Operands operands) {
  Output out(evaluation.resultShape(op));
  Input in(operands[0]);
  TERCEL_CHECK(in.shape().bytes() == out.shape().bytes(), "bitcast_convert changes the size");
  if (out.shape().bytes() > 0)
    std::memcpy(out.bytes(), in.bytes(), static_cast<size_t>(out.shape().bytes()));
  return Literals{out.take()};
}

}  // namespace tercel::eval
