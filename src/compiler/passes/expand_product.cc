#include "compiler/passes/expand_product.h"

#include "compiler/passes/expand_reduce.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewRows = 4, kLarge = 4 << 20;  // bytes
constexpr int64_t kMostParts = 16, kFewestParts = 4, kFewestLines = 64;

// 0: none that are of one size.
int64_t partsOf(int64_t k) {
  for (int64_t parts = kMostParts; parts >= kFewestParts; --parts)
    if (k % parts == 0 && k / parts >= kFewestLines) return parts;
  return 0;
}

bool suits(const Rewriter& rw, const Op& o) {
  const Shape &rows = rw.shape(o.operand(0)), &matrix = rw.shape(o.operand(1));
  return rows.rank() <= 2 && matrix.rank() == 2 &&
         isFloat(rw.shape(o.result()).dtype) &&
         o.ints(AttrKey::lhs_contracting_dimensions) == Ints{rows.rank() - 1} &&
         o.ints(AttrKey::rhs_contracting_dimensions) == Ints{0} &&
         rows.elements() <= kFewRows * matrix.dims[0] && matrix.bytes() >= kLarge;
}

}  // namespace

bool splitSum(Rewriter& rw, OpId id) {
  const Op o = rw.op(id);
  if (!suits(rw, o)) return false;
  const Shape out = rw.shape(o.result());
  const Dims matrix = rw.shape(o.operand(1)).dims;
  const int64_t k = matrix[0], n = matrix[1], m = rw.shape(o.operand(0)).elements() / k;
  const int64_t parts = partsOf(k);
  if (parts == 0) return false;
  Attrs attrs = o.attrs;
  for (auto& [key, attr] : attrs) {
    if (key == AttrKey::lhs_batching_dimensions) attr = Ints{1};
    if (key == AttrKey::rhs_batching_dimensions) attr = Ints{0};
    if (key == AttrKey::lhs_contracting_dimensions) attr = Ints{2};
    if (key == AttrKey::rhs_contracting_dimensions) attr = Ints{1};
  }
  // Sums of parts are not rounded to 16 bits.
  const DType wide = computedType(out.dtype);
  Value partial = rw.emit(OpKind::dot_general_,
                          {rw.reshape(o.operand(0), {m, parts, k / parts}),
                           rw.reshape(o.operand(1), {parts, k / parts, n})},
                          {wide, {parts, m, n}}, attrs);
  Value sum = reduceBy(rw, OpKind::add_, partial, rw.splat({wide, {}}, 0), {0});
  rw.replace(o.result(), rw.convert(rw.reshape(sum, out.dims), out.dtype));
  return true;
}

}  // namespace tercel::passes
