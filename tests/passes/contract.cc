#include "contract.h"

#include <algorithm>

#include "compiler/ir/text.h"
#include "core/status.h"

namespace tercel::passes {
using namespace ir;
namespace {

bool hasUnit(const Dims& dims) { return std::ranges::find(dims, 1) != dims.end(); }

bool rises(const Ints& list) {
  return std::ranges::adjacent_find(list, std::greater_equal<>()) == list.end();
}

std::string_view brokenBroadcast(const Module& m, const Op& op) {
  const Dims& from = m.shape(op.operand(0)).dims;
  const Ints& where = op.ints(AttrKey::broadcast_dimensions);
  if (hasUnit(from)) return "operand with a dimension of 1";
  if (!rises(where)) return "broadcast_dimensions do not rise";
  if (elementCount(from) == m.shape(op.result()).elements()) return "repeats nothing";
  const Op* inner = m.def(op.operand(0));
  if (inner && inner->kind == OpKind::constant_ && inner->literal().isSplat()) return "of a splat";
  return inner && inner->kind == OpKind::broadcast_in_dim_ ? "of a broadcast" : "";
}

std::string_view brokenTranspose(const Module& m, const Op& op) {
  if (rises(op.ints(AttrKey::permutation))) return "moves nothing";
  return hasUnit(m.shape(op.operand(0)).dims) ? "operand with a dimension of 1" : "";
}

std::string_view broken(const Module& m, const Op& op) {
  switch (op.kind) {
    case OpKind::broadcast_in_dim_:
      return brokenBroadcast(m, op);
    case OpKind::call_:
    case OpKind::composite_:
    case OpKind::get_dimension_size_:
    case OpKind::map_:
    case OpKind::optimization_barrier_:
      return "should be gone";
    case OpKind::case_:
      return op.regions.size() < 3 ? "should be an if" : "";
    case OpKind::clamp_:
    case OpKind::select_:
      for (Value v : op.operands)
        if (m.shape(v).dims != m.shape(op.result()).dims) return "operand not of full shape";
      return "";
    case OpKind::constant_:
      return !op.literal().isSplat() && op.literal().shape().elements() == 1 ? "not a splat" : "";
    case OpKind::iota_:
      return m.shape(op.result()).rank() != 1 ? "not of rank 1" : "";
    case OpKind::reshape_:
      return m.shape(op.operand(0)).dims == m.shape(op.result()).dims ? "changes nothing" : "";
    case OpKind::transpose_:
      return brokenTranspose(m, op);
    default:
      break;
  }
  bool one = op.results.size() == 1 && !m.type(op.result()).is_token;
  bool empty = one && op.kind != OpKind::custom_call_ && m.shape(op.result()).elements() == 0;
  return empty ? "computes nothing" : "";
}

std::string violationIn(const Module& m, RegionId region) {
  for (OpId id : m.region(region).ops) {
    if (std::string_view why = broken(m, m.op(id)); !why.empty())
      return cat(printOp(m, id), ": ", why);
    for (RegionId inner : m.op(id).regions)
      if (std::string within = violationIn(m, inner); !within.empty()) return within;
  }
  return {};
}

}  // namespace

std::string contractViolation(const Module& module) {
  if (module.functions.size() != 1) return "more functions than main";
  return violationIn(module, module.main().body);
}

}  // namespace tercel::passes
