// Loop-invariant code motion. Values that a loop carries unchanged become captures of the value
// from outside, and two that it carries in step become one; pure ops that read nothing from the
// loop move in front of it, whole loops and branches among them where they come to an end (or would
// have run anyway). What can be made again from little (constants, iotas, broadcasts and
// cheap arithmetic on them) floats: it stays in the loop, and a copy of it goes along where an op
// that moves out needs it. Operands of products do not: they would be memory in each turn.
#include <algorithm>
#include <optional>

#include "compiler/ir/parallel_loop.h"
#include "compiler/passes/cost.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/lanes.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kNearBytes = 4096;  // stays in the first cache for the length of a loop
constexpr size_t kTwinDistance = 16;   // how far apart carried values are compared
constexpr int64_t kMaxGrowth = 2;      // result bytes that may be kept for each byte read
constexpr int64_t kLargeBytes = 16 << 20;  // of an operand that is better made again than kept

class Hoister {
 public:
  explicit Hoister(Module& module)
      : module_(module), multiplied_(module.valueCount()) {
    for (uint32_t i = 0; i < module.opCount(); ++i)
      if (const Op& op = module.op(OpId{i}); isProduct(op.kind))
        for (Value v : op.operands) multiplied_[v.index] = true;
  }

  bool run() {
    for (size_t i = 0; i < module_.functions.size(); ++i)
      walk(module_.functions[i].body, {});
    return changed_;
  }

 private:
  struct Place {
    int depth = 0;
    bool in_loop = false;  // directly in a loop's condition or body
    bool runs = false;     // at least once
  };
  struct Facts {
    int level = 0;        // depth of the region the value is made in
    bool floats = false;  // could be made further out
    Value forward;        // what stands for it
    Value copy;           // of a floating value, made in the region around
  };

  static bool isProduct(OpKind kind) {
    return kind == OpKind::dot_general_ || kind == OpKind::convolution_;
  }

  bool isMultiplied(Value v) const { return v.index < multiplied_.size() && multiplied_[v.index]; }

  Facts& facts(Value v) {
    if (v.index >= facts_.size()) facts_.resize(module_.valueCount());
    return facts_[v.index];
  }
  Value now(Value v) {
    while (facts(v).forward.valid()) v = facts(v).forward;
    return v;
  }
  void remap(Values& values) {
    for (Value& v : values) v = now(v);
  }

  void walk(RegionId id, Place place) {
    for (Value arg : module_.region(id).args) facts(arg).level = place.depth;
    std::vector<OpId> todo = std::move(module_.region(id).ops);
    std::vector<OpId> out;
    out.reserve(todo.size());
    for (OpId op : todo) {
      remap(module_.op(op).operands);
      if (module_.op(op).kind == OpKind::while_) dropInvariantCarries(op);
      walkRegions(op, place, out);
      settle(op, place, out);
    }
    remap(module_.region(id).results);
    module_.region(id).ops = std::move(out);
  }

  void walkRegions(OpId op, Place place, std::vector<OpId>& out) {
    const bool loop = module_.op(op).kind == OpKind::while_;
    for (size_t i = 0; i < module_.op(op).regions.size(); ++i) {
      std::vector<OpId> outer = std::exchange(hoisted_, {});
      const bool runs = loop && (i == 0 || runsOnce(module_.op(op)));
      walk(module_.op(op).regions[i], {place.depth + 1, loop, runs});
      std::vector<OpId> hoisted = std::exchange(hoisted_, std::move(outer));
      for (OpId inner : hoisted) settle(inner, place, out);
    }
  }

  // Puts an op where it belongs: here, or on the list of what moves out of this region.
  void settle(OpId id, Place place, std::vector<OpId>& out) {
    Op& op = module_.op(id);
    bool invariant = place.in_loop && isInvariant(op, place);
    bool floats = invariant && shouldFloat(op);
    if (invariant && !floats) {
      moveOut(id, place.depth);
      hoisted_.push_back(id);
      changed_ = true;
    } else {
      out.push_back(id);
    }
    for (Value v : op.results) {
      facts(v).level = invariant && !floats ? place.depth - 1 : place.depth;
      facts(v).floats = floats;
    }
  }

  std::optional<double> number(Value v) const {
    const Op* op = module_.def(v);
    const bool is_known = op && op->kind == OpKind::constant_ && module_.shape(v).rank() == 0;
    return is_known ? std::optional(op->literal().number(0)) : std::nullopt;
  }
  // A loop that ends: it counts up to a limit, which stays.
  bool isCounted(const Op& loop) const {
    const std::optional<Counting> counts = counting(module_, loop);
    if (!counts || !(number(counts->step) > 0)) return false;
    const Region& condition = module_.region(loop.regions[0]);
    const OpId made_by = module_.value(counts->limit).def;
    return number(counts->limit) || (!std::ranges::count(condition.args, counts->limit) &&
                                     !std::ranges::count(condition.ops, made_by));
  }
  bool runsOnce(const Op& loop) const {
    const std::optional<Counting> counts = counting(module_, loop);
    if (!counts) return false;
    const auto first = number(counts->first), limit = number(counts->limit);
    return first && limit && *first < *limit;
  }

  bool isInvariant(const Op& op, Place place) {
    if (!repeats(op, place.runs) || op.results.empty()) return false;
    for (Value v : op.results)
      if (module_.type(v).is_token) return false;
    auto stays = [&](Value v) { return facts(v).level >= place.depth && !facts(v).floats; };
    if (std::ranges::any_of(op.operands, stays)) return false;
    bool any = false;
    forEachCapture(op, place.depth, [&](Value v) { any |= !facts(v).floats; });
    return !any;
  }

  // Whether it gives the same results each time, and gives them at all.
  bool repeats(const Op& op, bool runs) const {
    if (!isRepeatable(op) || (op.kind == OpKind::while_ && !runs && !isCounted(op))) return false;
    if (actsOnElements(op.kind)) return true;
    return std::ranges::all_of(op.regions, [&](RegionId region) {
      return std::ranges::all_of(module_.region(region).ops,
                                 [&](OpId id) { return repeats(module_.op(id), runs); });
    });
  }

  // f(v) for what the op's regions use of the region around it.
  template <class F>
  void forEachCapture(const Op& op, int depth, F&& f) {
    for (RegionId id : op.regions) {
      Region& region = module_.region(id);
      for (Value& v : region.results)
        if (facts(v).level == depth) f(v);
      for (OpId inner : region.ops) {
        for (Value& v : module_.op(inner).operands)
          if (facts(v).level == depth) f(v);
        forEachCapture(module_.op(inner), depth, f);
      }
    }
  }

  // What it uses of the region that it leaves floats there.
  void moveOut(OpId id, int depth) {
    Values operands = module_.op(id).operands;
    for (Value& v : operands) v = outside(v, depth);
    module_.op(id).operands = std::move(operands);
    std::vector<Value> captured;
    forEachCapture(module_.op(id), depth, [&](Value v) { captured.push_back(v); });
    for (Value v : captured) outside(v, depth);
    forEachCapture(module_.op(id), depth, [&](Value& v) { v = facts(v).copy; });
  }

  // Made from nothing large, by nothing dear.
  bool shouldFloat(const Op& op) {
    if (op.kind == OpKind::constant_ || op.kind == OpKind::iota_) return true;
    int64_t bytes = 0, read = 0;
    for (Value v : op.results) bytes += module_.shape(v).bytes();
    for (Value v : op.operands)
      if (!facts(v).floats) read += module_.shape(v).bytes();
    bool moves = opClass(op.kind) == OpClass::shape;
    if (!moves && !isCheapElementwise(op.kind)) return false;
    if (bytes <= kNearBytes && read > 0 && op.kind != OpKind::broadcast_in_dim_) return false;
    if (bytes <= kMaxGrowth * read) return false;
    return moves || bytes > kLargeBytes || !isMultiplied(op.result());
  }

  // A value for use in the region around: itself, or a copy of what floats in the loop.
  Value outside(Value v, int depth) {
    if (facts(v).level < depth) return v;
    if (facts(v).copy.valid()) return facts(v).copy;
    Values operands = module_.def(v)->operands;
    for (Value& operand : operands) operand = outside(operand, depth);
    OpId copy = copyOn(module_, v, std::move(operands));
    hoisted_.push_back(copy);
    Value result = module_.op(copy).result();
    facts(v).copy = result;
    facts(result).level = depth - 1;
    return result;
  }

  void dropInvariantCarries(OpId id) {
    const Op& op = module_.op(id);
    const Region& cond = module_.region(op.regions[0]);
    const Region& body = module_.region(op.regions[1]);
    std::vector<bool> keep(op.results.size(), true);
    for (size_t i = 0; i < keep.size(); ++i) {
      Value next = now(body.results[i]);
      if (next == body.args[i] || next == op.operand(i)) {
        keep[i] = false;
        facts(cond.args[i]).forward = op.operand(i);
        facts(body.args[i]).forward = op.operand(i);
        facts(op.results[i]).forward = op.operand(i);
      } else if (std::optional<size_t> twin = twinOf(op, body, i)) {
        keep[i] = false;
        facts(cond.args[i]).forward = cond.args[*twin];
        facts(body.args[i]).forward = body.args[*twin];
        facts(op.results[i]).forward = op.results[*twin];
      }
    }
    if (std::ranges::find(keep, false) == keep.end()) return;
    keepLanes(module_, id, keep);
    changed_ = true;
  }

  // A value carried before the i-th that starts as it does and is stepped by the same op.
  std::optional<size_t> twinOf(const Op& loop, const Region& body, size_t i) {
    const Op* step = module_.def(body.results[i]);
    if (!step || step->results.size() != 1 || !step->regions.empty() || !isPure(*step)) return {};
    size_t first = i > kTwinDistance ? i - kTwinDistance : 0;
    for (size_t j = first; j < i; ++j) {
      if (loop.operand(j) != loop.operand(i)) continue;
      const Op* other = module_.def(body.results[j]);
      if (!other || other->kind != step->kind || other->attrs != step->attrs) continue;
      bool same = std::ranges::equal(step->operands, other->operands, [&](Value a, Value b) {
        return sameConstant(a, b) || (a == body.args[i] && b == body.args[j]);
      });
      if (same) return j;
    }
    return {};
  }

  bool sameConstant(Value a, Value b) {
    if (now(a) == now(b)) return true;
    const Op *x = module_.def(now(a)), *y = module_.def(now(b));
    return x && y && x->kind == OpKind::constant_ && y->kind == OpKind::constant_ &&
           x->literal() == y->literal();
  }

  Module& module_;
  std::vector<bool> multiplied_;  // by value: an operand of a product
  std::vector<Facts> facts_;      // by value
  std::vector<OpId> hoisted_;     // out of the region being walked, in order
  bool changed_ = false;
};

}  // namespace

PassResult hoistInvariants(Module& module) {
  bool any_loop = false;
  for (size_t i = 0; i < module.opCount() && !any_loop; ++i)
    any_loop = module.op(OpId{static_cast<uint32_t>(i)}).kind == OpKind::while_;
  return any_loop && Hoister(module).run();
}

}  // namespace tercel::passes
