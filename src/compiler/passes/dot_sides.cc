#include "compiler/passes/dot_sides.h"

#include "compiler/passes/dimensions.h"

namespace tercel::passes {
using namespace ir;

Ints DotSide::free(int64_t rank) const {
  Ints list;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(batch, d) && !contains(contracting, d)) list.push_back(d);
  return list;
}

DotSide lhsOf(const Op& dot) {
  return {dot.operand(0), dot.ints(AttrKey::lhs_batching_dimensions),
          dot.ints(AttrKey::lhs_contracting_dimensions)};
}
DotSide rhsOf(const Op& dot) {
  return {dot.operand(1), dot.ints(AttrKey::rhs_batching_dimensions),
          dot.ints(AttrKey::rhs_contracting_dimensions)};
}

int64_t extent(const Dims& dims, const Ints& of) {
  int64_t product = 1;
  for (int64_t d : of) product *= dims[static_cast<size_t>(d)];
  return product;
}

Ints mapped(const Ints& list, const Ints& to) {
  Ints result;
  for (int64_t d : list) result.push_back(to[static_cast<size_t>(d)]);
  return result;
}

DotSide reordered(const DotSide& side, Value transposed, const Ints& order) {
  const Ints to = inverse(order);
  return {transposed, mapped(side.batch, to), mapped(side.contracting, to)};
}

DotSide turned(Rewriter& rw, const DotSide& side, const Ints& order) {
  return reordered(side, rw.transpose(side.value, order), order);
}

Attrs dotAttrs(const Op& like, const DotSide& lhs, const DotSide& rhs) {
  Attrs attrs(like.attrs);
  for (auto& [key, attr] : attrs) {
    if (key == AttrKey::lhs_batching_dimensions) attr = lhs.batch;
    if (key == AttrKey::lhs_contracting_dimensions) attr = lhs.contracting;
    if (key == AttrKey::rhs_batching_dimensions) attr = rhs.batch;
    if (key == AttrKey::rhs_contracting_dimensions) attr = rhs.contracting;
  }
  return attrs;
}

Value emitDot(Rewriter& rw, const Op& like, const DotSide& lhs, const DotSide& rhs, Dims result) {
  return rw.emit(OpKind::dot_general_, {lhs.value, rhs.value},
                 {rw.shape(like.result()).dtype, std::move(result)}, dotAttrs(like, lhs, rhs));
}

}  // namespace tercel::passes
