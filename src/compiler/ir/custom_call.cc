#include "compiler/ir/custom_call.h"

namespace tercel::ir {

Status checkShapeAssertion(const Op& op, std::span<const Literal> operands) {
  if (operands.empty()) return invalidArgument("a shape_assertion of nothing");
  if (operands[0].number(0) != 0) return {};
  std::string message = op.symbol(AttrKey::backend_config);
  for (size_t i = 1; i < operands.size(); ++i) {
    const std::string mark = cat('{', i - 1, '}');
    const std::string number = cat(static_cast<int64_t>(operands[i].number(0)));
    for (size_t at = 0; (at = message.find(mark, at)) != message.npos; at += number.size())
      message.replace(at, mark.size(), number);
  }
  return invalidArgument(message.empty() ? "a shape assertion does not hold" : message);
}

std::vector<Type> shownTypes(const Module& module, const Op& op, const Values& values,
                             AttrKey key) {
  std::span<const int64_t> layouts = op.ints(key);
  std::vector<Type> types;
  for (Value v : values) {
    types.push_back(module.type(v));
    if (types.back().is_token || layouts.empty()) continue;
    Dims& dims = types.back().shape.dims;
    dims = shownOrder(dims, layouts.first(dims.size()));
    layouts = layouts.subspan(dims.size());
  }
  return types;
}

}  // namespace tercel::ir
