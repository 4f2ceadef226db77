#include "compiler/kernel/turned_input.h"

#include <algorithm>
#include <map>

#include "compiler/kernel/moved_indices.h"

namespace tercel::kernel {
namespace {

using ir::OpKind;

class Finder {
 public:
  Finder(const Lowering& low, bool late)
      : m_(low.module), cluster_(low.cluster), late_(late) {}

  TurnedInput find() {
    TurnedInput found;
    for (ir::OpId id : cluster_.ops) {
      const ir::Op& op = m_.op(id);
      if (op.kind != OpKind::transpose_) continue;
      if (found.transpose.valid()) return {};
      found.transpose = op.result();
    }
    if (!found.transpose.valid() || !isUsedAtOneIndex(found.transpose)) return {};
    found.source = found.turned = found.transpose;
    const ir::Value operand = m_.def(found.transpose)->operand(0);
    if (origin(operand) != Origin::input || !isTurnedFirst(found.transpose)) return found;
    const std::vector<ir::OpId> path = pathTo(found.transpose);
    const bool is_used_before = isUsedBefore(found.transpose);
    if (!is_used_before && !std::ranges::all_of(path, [&](ir::OpId id) { return isMove(id); }))
      return found;
    found.source = input_;
    found.path = path;
    if (is_used_before) found.turned = input_;
    return found;
  }

 private:
  bool isInput(ir::Value v) const {
    return std::ranges::find(cluster_.inputs, v) != cluster_.inputs.end();
  }

  bool isSingle(ir::Value v) const {
    const ir::Op* op = m_.def(v);
    if (!isInput(v) && op && op->kind == OpKind::broadcast_in_dim_) return isSingle(op->operand(0));
    return m_.shape(v).elements() == 1 || (op && op->kind == OpKind::constant_ &&
                                           op->literal().isSplat());
  }

  bool isRepeated(ir::Value v) const {
    const ir::Op* op = m_.def(v);
    return !isInput(v) && op && op->kind == OpKind::broadcast_in_dim_ &&
           m_.shape(op->operand(0)).elements() < m_.shape(v).elements();
  }

  // Where all elements come from: element work on one input, and on numbers.
  enum class Origin : uint8_t { number, input, other };

  Origin origin(ir::Value v) {
    auto [at, is_new] = origins_.try_emplace(v.index, Origin::other);
    if (is_new) at->second = findOrigin(v);
    return origins_.at(v.index);
  }

  Origin findOrigin(ir::Value v) {
    if (isSingle(v) || (late_ && isRepeated(v))) return Origin::number;
    if (isInput(v)) {
      const bool is_same = !input_.valid() || input_ == v;
      input_ = v;
      return is_same ? Origin::input : Origin::other;
    }
    const ir::Op* op = m_.def(v);
    const bool in_place = op && (ir::isElementwise(op->kind) || op->kind == OpKind::reshape_);
    if (!in_place || op->results.size() != 1) return Origin::other;
    Origin all = Origin::number;
    for (ir::Value from : op->operands) {
      const Origin one = origin(from);
      if (one == Origin::input && m_.shape(from).elements() != m_.shape(v).elements())
        return Origin::other;
      all = std::max(all, one);
    }
    return all;
  }

  bool isBefore(ir::Value v) const {
    const auto found = origins_.find(v.index);
    return found != origins_.end() && found->second == Origin::input;
  }

  // Whether nothing else is made of the input, or of what is made of it before the transpose.
  bool isUsedBefore(ir::Value transpose) const {
    return std::ranges::all_of(cluster_.ops, [&](ir::OpId id) {
      const ir::Op& op = m_.op(id);
      const bool uses =
          std::ranges::any_of(op.operands, [&](ir::Value v) { return isBefore(v); });
      return !uses || op.result() == transpose || isBefore(op.result());
    });
  }

  bool isMove(ir::OpId id) const {
    return m_.op(id).kind == OpKind::transpose_ || m_.op(id).kind == OpKind::reshape_;
  }

  std::vector<ir::OpId> pathTo(ir::Value v) const {
    std::vector<ir::OpId> path;
    while (v != input_) {
      path.push_back(m_.value(v).def);
      v = *std::ranges::find_if(m_.def(v)->operands, [&](ir::Value x) { return isBefore(x); });
    }
    return path;
  }

  bool isTurnedFirst(ir::Value transpose) const {
    const Shape &from = m_.shape(input_), &to = m_.shape(transpose);
    return !isComplex(from.dtype) && from.elements() == to.elements() &&
           (late_ || byteSize(from.dtype) <= byteSize(to.dtype));
  }

  // Whether all that is made of it has its elements, in their order.
  bool isUsedAtOneIndex(ir::Value transpose) const {
    std::vector<ir::Value> made{transpose};
    for (ir::OpId id : cluster_.ops) {
      const ir::Op& op = m_.op(id);
      auto is_made = [&](ir::Value v) { return std::ranges::find(made, v) != made.end(); };
      if (std::ranges::none_of(op.operands, is_made)) continue;
      bool in_place = ir::isElementwise(op.kind) || op.kind == OpKind::reshape_;
      if (!in_place || m_.shape(op.result()).elements() != m_.shape(transpose).elements())
        return false;
      made.push_back(op.result());
    }
    return true;
  }

  const ir::Module& m_;
  const Cluster& cluster_;
  const bool late_;
  ir::Value input_;
  std::map<uint32_t, Origin> origins_;
};

}  // namespace

TurnedInput findTurned(const Lowering& low, bool late) {
  return Finder(low, late).find();
}

Indices TurnedInput::sourceIndices(const ir::Module& m, IndexSpace& space, Indices indices) const {
  for (ir::OpId id : path)
    if (auto moved = movedIndices(space, m, m.op(id), indices)) indices = *std::move(moved);
  return indices;
}

}  // namespace tercel::kernel
