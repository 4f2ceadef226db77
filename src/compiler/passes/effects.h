// What an op does besides making its results.
#pragma once
#include "compiler/ir/clone.h"

namespace tercel::passes {

// Must happen even where nobody reads its results.
inline bool hasEffect(const ir::Op& op) {
  return op.kind == ir::OpKind::custom_call_ &&
         (op.boolean(ir::AttrKey::has_side_effect) || op.results.empty());
}

// Makes the same results from the same operands every time, and does nothing else.
inline bool isPure(const ir::Op& op) {
  switch (op.kind) {
    case ir::OpKind::call_:
    case ir::OpKind::composite_:
    case ir::OpKind::custom_call_:
    case ir::OpKind::optimization_barrier_:
      return false;
    default:
      return true;
  }
}

// A call of linear algebra, whose results follow from its operands alone as those of a pure op do.
inline bool isLinalgCall(const ir::Op& op) {
  return op.kind == ir::OpKind::custom_call_ && !hasEffect(op) &&
         op.symbol(ir::AttrKey::call_target_name).starts_with("lapack_");
}

// Once is as good as twice.
inline bool isRepeatable(const ir::Op& op) { return isPure(op) || isLinalgCall(op); }

// Whether anything in a region must happen, or happen as often as the region runs.
inline bool hasEffects(const ir::Module& module, ir::RegionId region) {
  bool any = false;
  forEachOp(module, region, [&](ir::OpId id, ir::RegionId) { any |= hasEffect(module.op(id)); });
  return any;
}

// Its regions are functions of single elements; those of while, if and case are code.
inline bool actsOnElements(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::map_:
    case ir::OpKind::reduce_:
    case ir::OpKind::reduce_window_:
    case ir::OpKind::scatter_:
    case ir::OpKind::select_and_scatter_:
    case ir::OpKind::sort_:
      return true;
    default:
      return false;
  }
}

}  // namespace tercel::passes
