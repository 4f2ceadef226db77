// What a loop adds on each turn to an array that it carries, where that is 0 around one part: the
// part is added where the array lies. The gradients of what a loop reads of its own state are such
// sums. Adding +0 makes +0 of -0, so after the loop all elements get it but those that lie in the
// parts of all turns.
#include <algorithm>
#include <unordered_map>

#include "compiler/ir/clone.h"
#include "compiler/ir/parallel_loop.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/zero_signs.h"

namespace tercel::passes {
using namespace ir;
namespace {

struct CarriedSum {
  size_t lane;
  Values added;  // in the order of the additions
};

// Where all parts are, by dimension; invalid: everywhere.
struct Bounds {
  Values low, high;
};

class CarriedSums : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool enter(OpId id) override {
    if (op(id).kind != OpKind::while_ || !countedLoop(module(), op(id))) return false;
    const std::vector<CarriedSum> sums = sumsOf(op(id));
    if (sums.empty()) return false;
    addInPlace(op(id), sums);
    return true;
  }
  bool visit(OpId) override { return false; }

 private:
  std::vector<CarriedSum> sumsOf(const Op& loop) {
    const Region& body = module().region(loop.regions[1]);
    reads_.clear();
    forEachRead(module(), loop, [&](Value v) { ++reads_[v.index]; });
    std::vector<CarriedSum> sums;
    for (size_t lane = 0; lane < body.args.size(); ++lane) {
      if (module().type(body.args[lane]).is_token) continue;
      CarriedSum sum{lane, {}};
      Value v = body.results[lane];
      while (isReadOnce(v) && addOf(v, sum.added)) {}
      const bool only_adds = v == body.args[lane] && isReadOnce(v) && !sum.added.empty();
      if (!only_adds || ZeroSigns().isNeverNegative(*this, loop.operand(lane))) continue;
      std::ranges::reverse(sum.added);
      sums.push_back(std::move(sum));
    }
    return sums;
  }

  bool isReadOnce(Value v) const {
    const auto at = reads_.find(v.index);
    return at != reads_.end() && at->second == 1;
  }

  // v is another value and a part: that value in the place of v.
  bool addOf(Value& v, Values& added) const {
    const Op* add = def(v, OpKind::add_);
    if (!add) return false;
    for (size_t i : {size_t{1}, size_t{0}}) {
      if (!isPart(add->operand(i))) continue;
      if (!added.empty() && indexOf(added[0]) != indexOf(add->operand(i))) continue;
      added.push_back(add->operand(i));
      v = add->operand(1 - i);
      return true;
    }
    return false;
  }

  bool isPart(Value v) const {
    constexpr int64_t kSmallestPart = 4;
    const Op* update = def(v, OpKind::dynamic_update_slice_);
    return update && isReadOnce(v) && isZeroAroundPlaces(*this, v) &&
           (indexOf(v) == DType::s32 || indexOf(v) == DType::s64) &&
           shape(update->operand(1)).elements() * kSmallestPart <= shape(v).elements();
  }

  // Of the starts of an update.
  DType indexOf(Value v) const { return shape(def(v)->operand(2)).dtype; }

  void addInPlace(const Op& loop, const std::vector<CarriedSum>& sums) {
    const Op old = loop;
    Values starts = old.operands;
    std::vector<Bounds> bounds;  // after the loop, at first by their lane of it
    Builder inside(module(), old.regions[1], old.loc);
    for (const CarriedSum& sum : sums) {
      Bounds all = addParts(inside, sum);
      const Dims whole = shape(old.operand(sum.lane)).dims;
      for (size_t d = 0; d < whole.size(); ++d) {
        carry(inside, OpKind::maximum_, all.low[d], 0, starts);
        carry(inside, OpKind::minimum_, all.high[d], whole[d], starts);
      }
      bounds.push_back(std::move(all));
    }
    const Values made = loopLike(old, starts);
    for (size_t i = 0; i < old.results.size(); ++i) replace(old.result(i), made[i]);
    size_t lane = old.results.size();
    for (size_t i = 0; i < sums.size(); ++i) {
      for (size_t d = 0; d < bounds[i].low.size(); ++d)
        for (Value* bound : {&bounds[i].low[d], &bounds[i].high[d]})
          if (bound->valid()) *bound = made[lane++];
      replace(old.result(sums[i].lane), signZeros(made[sums[i].lane], bounds[i]));
    }
  }

  // Where the parts of one turn are.
  Bounds addParts(Builder& b, const CarriedSum& sum) {
    Value total = module().region(b.region()).args[sum.lane];
    const Dims whole = b.shape(total).dims;
    Bounds bounds{Values(whole.size()), Values(whole.size())};
    for (Value added : sum.added) {
      const Op update = *def(added);
      const Value part = update.operand(1);
      const Dims sizes = b.shape(part).dims;
      const std::span starts = std::span(update.operands).subspan(2);
      const Value before = b.dynamicSlice(total, starts, sizes);
      total = b.dynamicUpdateSlice(total, b.binary(OpKind::add_, before, part), starts);
      for (size_t d = 0; d < whole.size(); ++d) {
        if (sizes[d] == whole[d]) continue;
        auto number = [&](int64_t n) { return b.splat(b.shape(starts[d]), static_cast<double>(n)); };
        const Value start = b.build(
            OpKind::clamp_, {number(0), starts[d], number(whole[d] - sizes[d])});
        narrow(b, OpKind::maximum_, bounds.low[d], start);
        narrow(b, OpKind::minimum_, bounds.high[d], b.binary(OpKind::add_, start, number(sizes[d])));
      }
    }
    module().region(b.region()).results[sum.lane] = total;
    return bounds;
  }

  static void narrow(Builder& b, OpKind kind, Value& bound, Value by) {
    bound = bound.valid() ? b.binary(kind, bound, by) : by;
  }

  // The bound of all turns, a new lane of the loop.
  void carry(Builder& inside, OpKind kind, Value of_turn, int64_t first, Values& starts) {
    if (!of_turn.valid()) return;
    starts.push_back(like(of_turn, static_cast<double>(first)));
    const Value before = module().addArg(inside.region(), module().type(of_turn));
    const Value now = inside.binary(kind, before, of_turn);
    module().region(inside.region()).results.push_back(now);
  }

  // The loop with the lanes that its body has come to have.
  Values loopLike(const Op& old, const Values& starts) {
    std::vector<Type> types;
    for (Value v : starts) types.push_back(module().type(v));
    for (size_t i = old.operands.size(); i < starts.size(); ++i)
      module().addArg(old.regions[0], types[i]);
    const OpId loop = module().addOp(OpKind::while_, starts, types);
    module().op(loop).regions = old.regions;
    module().op(loop).loc = old.loc;
    placeUnwalked(loop);
    return op(loop).results;
  }

  Value signZeros(Value total, const Bounds& bounds) {
    const Shape whole = shape(total);
    Value in_all;
    for (size_t d = 0; d < bounds.low.size(); ++d) {
      if (!bounds.low[d].valid()) continue;
      const Value at = emit(OpKind::iota_, {}, {shape(bounds.low[d]).dtype, whole.dims},
                            {{AttrKey::iota_dimension, static_cast<int64_t>(d)}});
      auto holds = [&](Value bound, std::string_view direction) {
        const Value test = compare(at, broadcast(bound, whole.dims, {}), direction, "SIGNED");
        in_all = in_all.valid() ? binary(OpKind::and_, in_all, test) : test;
      };
      holds(bounds.low[d], "GE");
      holds(bounds.high[d], "LT");
    }
    return select(in_all, total, binary(OpKind::add_, total, like(total, 0)));
  }

  std::unordered_map<uint32_t, uint32_t> reads_;  // within the loop, by value
};

}  // namespace

PassResult addCarriedInPlace(Module& module) { return CarriedSums(module).run(); }

}  // namespace tercel::passes
