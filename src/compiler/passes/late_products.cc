// A product that a loop adds to an array on each turn, as the gradient of a recurrent network's
// weights is: the loop keeps the factors, and one product after it sums over the turns as well. The
// large array is then written once, not read and written on each turn.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/builder.h"
#include "compiler/ir/clone.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/ranges.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewTurns = 4;
constexpr int64_t kMostKept = int64_t{256} << 20;  // bytes

// What one lane of the loop adds up.
struct ProductSum {
  size_t lane;
  OpId product;
  Ints permutation;  // of what is added; empty: the product itself
};

class LateProducts : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool enter(OpId id) override {
    if (op(id).kind != OpKind::while_) return false;
    const std::optional<Counter> counter = counterOf(*this, op(id));
    if (!counter || counter->first != 0 || counter->step != 1 || counter->limit < kFewTurns)
      return false;
    const std::vector<ProductSum> sums = sumsOf(op(id), counter->limit);
    if (sums.empty()) return false;
    sumAfter(id, *counter, sums);
    return true;
  }
  bool visit(OpId) override { return false; }

 private:
  std::vector<ProductSum> sumsOf(const Op& loop, int64_t turns) {
    const Region& body = module().region(loop.regions[1]);
    uses_.clear();
    inside_.clear();
    forEachRead(module(), loop, [&](Value v) { ++uses_[v.index]; });
    for (Value v : body.args) inside_.insert(v.index);
    for (OpId inner : body.ops)
      for (Value v : op(inner).results) inside_.insert(v.index);
    std::vector<ProductSum> sums;
    for (size_t i = 0; i < body.args.size(); ++i)
      if (std::optional<ProductSum> sum = sumIn(body, i, turns)) sums.push_back(*std::move(sum));
    return sums;
  }

  bool isUsedOnce(Value v) const {
    auto at = uses_.find(v.index);
    return at != uses_.end() && at->second == 1;
  }

  // Made in the loop, for one user.
  const Op* onlyFor(Value v, OpKind kind) const {
    return inside_.contains(v.index) && isUsedOnce(v) ? def(v, kind) : nullptr;
  }

  std::optional<ProductSum> sumIn(const Region& body, size_t lane, int64_t turns) const {
    const Value carried = body.args[lane];
    const Op* add = onlyFor(body.results[lane], OpKind::add_);
    if (!add || !isUsedOnce(carried)) return {};
    const bool first = add->operand(0) == carried;
    if (!first && add->operand(1) != carried) return {};
    Value added = add->operand(first ? 1 : 0);
    ProductSum sum{lane, {}, {}};
    if (const Op* turned = onlyFor(added, OpKind::transpose_)) {
      sum.permutation = turned->ints(AttrKey::permutation);
      added = turned->operand(0);
    }
    const Op* product = onlyFor(added, OpKind::dot_general_);
    if (!product || !isWorthIt(*product, turns)) return {};
    sum.product = module().value(added).def;
    return sum;
  }

  // The factors are kept and read again; the sum would be read and written.
  bool isWorthIt(const Op& product, int64_t turns) const {
    if (!product.ints(AttrKey::lhs_batching_dimensions).empty()) return false;
    int64_t factors = 0, bytes = 0;
    for (Value v : product.operands) {
      if (!inside_.contains(v.index)) return false;
      factors += shape(v).elements();
      bytes += shape(v).bytes();
    }
    return 4 * factors <= shape(product.result()).elements() && bytes * turns <= kMostKept;
  }

  void sumAfter(OpId id, const Counter& counter, const std::vector<ProductSum>& sums) {
    const Op old = op(id);
    Values starts = old.operands;
    std::unordered_map<uint32_t, size_t> lanes;  // of what is kept, by value
    for (const ProductSum& sum : sums)
      for (Value v : Values(op(sum.product).operands))
        if (lanes.try_emplace(v.index, starts.size()).second)
          starts.push_back(keep(old, counter, v));
    for (const ProductSum& sum : sums) {
      Region& body = module().region(old.regions[1]);
      body.results[sum.lane] = body.args[sum.lane];
    }
    std::vector<Type> types;
    for (Value v : starts) types.push_back(module().type(v));
    const OpId loop = module().addOp(OpKind::while_, starts, types);
    module().op(loop).regions = old.regions;
    module().op(loop).loc = old.loc;
    placeUnwalked(loop);
    const Values made = op(loop).results;
    Values results(made.begin(), made.begin() + static_cast<ptrdiff_t>(old.results.size()));
    for (const ProductSum& sum : sums) {
      Values factors;
      for (Value v : op(sum.product).operands) factors.push_back(made[lanes.at(v.index)]);
      Value total = productOf(sum.product, std::move(factors));
      if (!sum.permutation.empty()) total = transpose(total, sum.permutation);
      results[sum.lane] = binary(OpKind::add_, old.operand(sum.lane), total);
    }
    replaceAll(old, results);
  }

  // One more lane of the loop: v of every turn. Returns what it starts as.
  Value keep(const Op& loop, const Counter& counter, Value v) {
    Shape all = shape(v), one = shape(v);
    all.dims.insert(0, counter.limit);
    one.dims.insert(0, 1);
    const Value start = splat(all, 0);
    module().addArg(loop.regions[0], module().type(start));
    const Value kept = module().addArg(loop.regions[1], module().type(start));
    Builder b(module(), loop.regions[1], loop.loc);
    const Value turn = module().region(loop.regions[1]).args[counter.lane];
    const Value zero = b.splat(shape(turn), 0);
    Values operands = {kept, b.reshape(v, one.dims), turn};
    operands.resize(operands.size() + shape(v).dims.size(), zero);
    const Value next = b.build(OpKind::dynamic_update_slice_, std::move(operands));
    module().region(loop.regions[1]).results.push_back(next);
    return start;
  }

  // The product over what was kept: summed over the turns too.
  Value productOf(OpId id, Values factors) {
    const Op old = op(id);
    Attrs attrs(old.attrs.begin(), old.attrs.end());
    for (auto& [key, attr] : attrs) {
      if (key != AttrKey::lhs_contracting_dimensions && key != AttrKey::rhs_contracting_dimensions)
        continue;
      Ints summed = {0};
      for (int64_t d : old.ints(key)) summed.push_back(d + 1);
      attr = summed;
    }
    return emit(OpKind::dot_general_, std::move(factors), shape(old.result()), std::move(attrs));
  }

  std::unordered_map<uint32_t, int> uses_;  // in the loop at hand, by value
  std::unordered_set<uint32_t> inside_;     // what its turns make or carry
};

}  // namespace

PassResult multiplyLate(Module& module) { return LateProducts(module).run(); }

}  // namespace tercel::passes
