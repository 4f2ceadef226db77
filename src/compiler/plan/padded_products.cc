#include "compiler/plan/padded_products.h"

#include <algorithm>

#include "compiler/kernel/contraction.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

// Edges around each of the outermost elements, of a number that kernels know.
bool hasPlainEdges(const ir::Module& m, const Op& pad) {
  const ir::Ints &low = pad.ints(AttrKey::edge_padding_low),
                 &high = pad.ints(AttrKey::edge_padding_high);
  auto none = [](int64_t x) { return x == 0; };
  auto some = [](int64_t x) { return x >= 0; };
  const Op* value = m.def(pad.operand(1));
  return value && value->kind == OpKind::constant_ && !low.empty() && low[0] == 0 &&
         high[0] == 0 && std::ranges::all_of(low, some) && std::ranges::all_of(high, some) &&
         std::ranges::all_of(pad.ints(AttrKey::interior_padding), none);
}

// Whether the value is made for one op alone, of a product element by element.
bool isOfProduct(const ir::Module& m, const RegionUses& uses, ir::Value v) {
  const auto made = uses.positionOf(v);
  if (!made || uses.users(*made).size() != 1 || uses.escapes(*made)) return false;
  const Op& op = *m.def(v);
  if (op.kind == OpKind::dot_general_ || op.kind == OpKind::convolution_)
    return kernel::Contraction(m, op).simple();
  return ir::isElementwise(op.kind) && std::ranges::any_of(op.operands, [&](ir::Value from) {
    return isOfProduct(m, uses, from);
  });
}

}  // namespace

bool padsProduct(const ir::Module& module, const RegionUses& uses, const Op& op) {
  if (op.kind != OpKind::pad_ || !hasPlainEdges(module, op)) return false;
  const Shape& inside = module.shape(op.operand(0));
  // Edges that are more than what they surround are work for tasks of their own.
  const bool is_mostly_edge = module.shape(op.result()).elements() > 2 * inside.elements();
  return !is_mostly_edge && !isComplex(inside.dtype) && !isPred(inside.dtype) &&
         isOfProduct(module, uses, op.operand(0));
}

}  // namespace tercel::plan
