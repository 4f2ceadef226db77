#include "compiler/passes/monoid.h"

namespace tercel::passes {
using namespace ir;

std::optional<OpKind> reducerKind(const Module& module, RegionId id) {
  const Region& region = module.region(id);
  if (region.args.size() != 2 || region.ops.size() != 1 || region.results.size() != 1) return {};
  const Op& op = module.op(region.ops[0]);
  if (op.operands.size() != 2 || op.results != region.results) return {};
  bool in_order = op.operand(0) == region.args[0] && op.operand(1) == region.args[1];
  bool swapped = op.operand(0) == region.args[1] && op.operand(1) == region.args[0];
  if (!in_order && !swapped) return {};
  switch (op.kind) {
    case OpKind::add_:
    case OpKind::and_:
    case OpKind::maximum_:
    case OpKind::minimum_:
    case OpKind::multiply_:
    case OpKind::or_:
    case OpKind::xor_:
      return op.kind;
    default:
      return {};
  }
}

}  // namespace tercel::passes
