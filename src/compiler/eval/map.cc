#include "compiler/eval/element_arrays.h"

namespace tercel::eval {

Result<Literals> evalMap(Evaluation& evaluation, const Op& op, Operands operands) {
  ScalarFunction function(evaluation, op.regions[0], Rounding::each_op);
  const Shape& shape = evaluation.resultShape(op);
  TERCEL_TRY(evaluation.charge(shape.elements() * function.cost()));
  InputArrays in(operands, function, 0);
  OutputArrays out;
  for (size_t i = 0; i < op.results.size(); ++i) out.add(Shape{function.resultType(i), shape.dims});
  std::vector<const void*> args(operands.size());
  std::vector<void*> results(op.results.size());
  for (int64_t i = 0; i < shape.elements(); ++i) {
    in.point(i, args.data());
    out.point(i, results.data());
    TERCEL_TRY(function.apply(args, results));
  }
  return out.take(evaluation, op);
}

}  // namespace tercel::eval
