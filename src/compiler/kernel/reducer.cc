#include "compiler/kernel/reducer.h"

#include <algorithm>

#include "compiler/eval/evaluation.h"

namespace tercel::kernel {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

// Whether v counts its elements from 0 along the dimension.
bool countsAlong(const ir::Module& m, Value v, int64_t dimension) {
  const Op* op = m.def(v);
  while (op && op->kind == OpKind::broadcast_in_dim_) {
    const ir::Ints& where = op->ints(ir::AttrKey::broadcast_dimensions);
    const auto at = std::ranges::find(where, dimension);
    if (at == where.end()) return false;
    dimension = at - where.begin();
    op = m.def(op->operand(0));
  }
  return op && op->kind == OpKind::iota_ &&
         op->integer(ir::AttrKey::iota_dimension) == dimension;
}

bool isZeroOrLess(const ir::Module& m, Value v) {
  const Op* op = m.def(v);
  return op && op->kind == OpKind::constant_ && op->literal().number(0) <= 0;
}

size_t readersIn(const ir::Module& m, const ir::Region& body, Value v) {
  auto count = [&](const ir::Values& values) {
    return static_cast<size_t>(std::ranges::count(values, v));
  };
  size_t readers = count(body.results);
  for (ir::OpId id : body.ops) readers += count(m.op(id).operands);
  return readers;
}

}  // namespace

bool initIsRepeatable(const ir::Module& m, const ir::Op& reduce) {
  size_t n = reduce.operands.size() / 2;
  std::vector<ir::Literal> init;
  for (size_t k = 0; k < n; ++k) {
    const ir::Op* def = m.def(reduce.operand(n + k));
    if (!def || def->kind != ir::OpKind::constant_) return false;
    init.push_back(def->literal());
  }
  std::vector<ir::Literal> twice = init;
  twice.insert(twice.end(), init.begin(), init.end());
  auto result = eval::Evaluation(m, {}).runRegion(reduce.regions[0], twice);
  return result.ok() && *result == init;
}

std::optional<Value> knownInOrder(const ir::Module& m, const Op& reduce) {
  const ir::Ints& dimensions = reduce.ints(ir::AttrKey::dimensions);
  const ir::Region& body = m.region(reduce.regions[0]);
  const size_t n = reduce.results.size();
  for (size_t k = 0; k < n && dimensions.size() == 1; ++k) {
    const Value i = body.args[k], j = body.args[n + k];
    auto op = [&](Value v, OpKind kind, Value a, Value b) {
      const Op* def = m.def(v);
      return def && def->kind == kind && def->operands.size() >= 2 &&
             *(def->operands.end() - 2) == a && *(def->operands.end() - 1) == b ? def : nullptr;
    };
    const Op* place = op(body.results[k], OpKind::select_, i, j);
    const Op* take = place ? m.def(place->operand(0)) : nullptr;
    if (!take || take->kind != OpKind::select_) continue;
    const Value earlier = take->operand(0);
    const Op* compare = op(earlier, OpKind::compare_, i, j);
    if (compare && compare->symbol(ir::AttrKey::comparison_direction) == "LT" &&
        readersIn(m, body, earlier) == 1 && readersIn(m, body, take->result()) == 1 &&
        countsAlong(m, reduce.operand(k), dimensions[0]) &&
        isZeroOrLess(m, reduce.operand(n + k)))
      return earlier;
  }
  return {};
}

}  // namespace tercel::kernel
