// A sum over products of all pairs, as in sum(x[:, :, None] * y[None], 1): a matrix product, whose
// kernels read each element fewer times than it is multiplied.
#include <algorithm>
#include <optional>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/monoid.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// Which dimension of the product each one of a factor's own is.
struct Factor {
  Value v;
  Ints where;

  // The own dimension of one of the product's; -1: the factor is the same all along it.
  int64_t own(int64_t d) const {
    auto at = std::ranges::find(where, d);
    return at == where.end() ? -1 : at - where.begin();
  }
  Ints own(const Ints& list) const {
    Ints places;
    for (int64_t d : list) places.push_back(own(d));
    return places;
  }
};

std::optional<Factor> factorOf(const Rewriter& rw, Value v) {
  const Op* broadcast = rw.def(v, OpKind::broadcast_in_dim_);
  if (!broadcast) return Factor{v, range(static_cast<int64_t>(rw.shape(v).rank()))};
  Factor factor{broadcast->operand(0), broadcast->ints(AttrKey::broadcast_dimensions)};
  const Dims &own = rw.shape(factor.v).dims, &all = rw.shape(v).dims;
  for (size_t d = 0; d < own.size(); ++d)
    if (own[d] != all[static_cast<size_t>(factor.where[d])]) return {};
  return factor;
}

bool isFloatSum(const Rewriter& rw, const Op& reduce) {
  if (reduce.operands.size() != 2) return false;
  const DType dtype = rw.shape(reduce.result()).dtype;
  return (dtype == DType::f32 || dtype == DType::f64) &&
         reducerKind(rw.module(), reduce.regions[0]) == OpKind::add_ &&
         isSplat(rw, reduce.operand(1), 0.0);
}

// The product's dimensions by which factor varies along them.
struct Roles {
  Ints batch, free[2], summed;
};

std::optional<Roles> rolesOf(const Factor (&factors)[2], const Ints& summed, int64_t rank) {
  Roles roles;
  for (int64_t d = 0; d < rank; ++d) {
    const bool in[] = {factors[0].own(d) >= 0, factors[1].own(d) >= 0};
    const bool both = in[0] && in[1];
    if (contains(summed, d) ? !both : !in[0] && !in[1]) return {};
    (contains(summed, d) ? roles.summed : both ? roles.batch : roles.free[in[0] ? 0 : 1])
        .push_back(d);
  }
  return roles;
}

Dims sizesOf(const Dims& dims, const Ints& list) {
  Dims sizes;
  for (int64_t d : list) sizes.push_back(dims[static_cast<size_t>(d)]);
  return sizes;
}

bool isWorthIt(const Roles& roles, const Dims& dims) {
  constexpr int64_t kFewest = 8;  // of less, sums are as fast
  for (const Ints& list : {roles.free[0], roles.free[1], roles.summed})
    if (elementCount(sizesOf(dims, list)) < kFewest) return false;
  return true;
}

}  // namespace

Value sumOfProducts(Rewriter& rw, const Op& reduce) {
  const Op* product = rw.def(reduce.operand(0), OpKind::multiply_);
  if (!product || !isFloatSum(rw, reduce)) return {};
  const auto left = factorOf(rw, product->operand(0)), right = factorOf(rw, product->operand(1));
  if (!left || !right) return {};
  const Factor factors[] = {*left, *right};
  const Dims dims = rw.shape(reduce.operand(0)).dims;
  const Ints summed = reduce.ints(AttrKey::dimensions);
  const auto roles = rolesOf(factors, summed, static_cast<int64_t>(dims.size()));
  if (!roles || !isWorthIt(*roles, dims)) return {};
  Ints order = roles->batch;
  for (const Ints& free : roles->free) order.insert(order.end(), free.begin(), free.end());
  const Attrs attrs = {
      {AttrKey::lhs_batching_dimensions, left->own(roles->batch)},
      {AttrKey::rhs_batching_dimensions, right->own(roles->batch)},
      {AttrKey::lhs_contracting_dimensions, left->own(roles->summed)},
      {AttrKey::rhs_contracting_dimensions, right->own(roles->summed)}};
  const Shape result = rw.shape(reduce.result());
  Value sums = rw.emit(OpKind::dot_general_, {left->v, right->v},
                       {result.dtype, sizesOf(dims, order)}, attrs);
  Ints permutation;  // of the kept dimensions, in the order of the result
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (!contains(summed, d))
      permutation.push_back(std::ranges::find(order, d) - order.begin());
  return rw.transpose(sums, permutation);
}

}  // namespace tercel::passes
