#include "compiler/plan/kernel_params.h"

#include <algorithm>
#include <cmath>

#include "compiler/plan/captures.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr size_t kMaxSlices = 4;

bool takesParams(kernel::Nest nest) {
  return nest == kernel::Nest::loop || nest == kernel::Nest::rows ||
         nest == kernel::Nest::contract || nest == kernel::Nest::update;
}

bool isArithmetic(OpKind kind) {
  switch (kind) {
    case OpKind::add_: case OpKind::subtract_: case OpKind::multiply_: case OpKind::divide_:
    case OpKind::maximum_: case OpKind::minimum_: case OpKind::clamp_: case OpKind::select_:
    case OpKind::compare_: case OpKind::multiply_add_:
      return true;
    default: return false;
  }
}

// Of the vectors that hold a column of a large matrix, others are picked too.
bool isLargeColumn(const ir::Module& m, const Op& slice) {
  constexpr int64_t kMany = 4096;
  return m.shape(slice.result()).elements() >= kMany && isColumn(m, slice);
}

bool isPlainNumber(const Op& op) {
  if (op.kind != OpKind::constant_ || !op.literal().isSplat()) return false;
  if (!isFloat(op.literal().shape().dtype)) return false;
  double x = op.literal().number(0);
  return std::isfinite(x) && x != 0 && std::abs(x) != 1;
}

}  // namespace

std::vector<Value> numbersOf(const ir::Module& m, const kernel::Cluster& cluster) {
  std::vector<Value> numbers;
  if (!takesParams(cluster.nest)) return numbers;
  for (ir::OpId id : cluster.ops)
    if (isPlainNumber(m.op(id))) numbers.push_back(m.op(id).result());
  if (numbers.empty()) return numbers;
  auto keep = [&](Value v) { std::erase(numbers, v); };
  for (ir::OpId id : cluster.ops) {
    const Op& op = m.op(id);
    if (op.kind == OpKind::divide_) keep(op.operand(1));  // by products that the number decides
    if (!isArithmetic(op.kind))
      for (Value v : op.operands) keep(v);
    if (!op.regions.empty())
      for (Value v : captures(m, op)) keep(v);
  }
  for (Value v : cluster.outputs) keep(v);
  return numbers;
}

std::vector<Value> slicesOf(const ir::Module& m, const kernel::Cluster& cluster) {
  std::vector<Value> slices;
  if (!takesParams(cluster.nest)) return slices;
  auto isShared = [&](size_t input) {
    auto has = [&](const std::vector<int32_t>& list) {
      return std::find(list.begin(), list.end(), static_cast<int32_t>(input)) != list.end();
    };
    return has(cluster.alias) || has(cluster.may_alias);
  };
  for (ir::OpId id : cluster.ops) {
    const Op& op = m.op(id);
    if (op.kind != OpKind::slice_ || m.shape(op.result()).elements() == 0 ||
        isLargeColumn(m, op))
      continue;
    auto input = std::find(cluster.inputs.begin(), cluster.inputs.end(), op.operand(0));
    if (input == cluster.inputs.end()) continue;
    if (!isShared(static_cast<size_t>(input - cluster.inputs.begin())))
      slices.push_back(op.result());
  }
  if (slices.size() > kMaxSlices) slices.clear();
  return slices;
}

}  // namespace tercel::plan
