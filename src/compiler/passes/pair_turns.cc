// A stencil reads the neighbours of what it writes, so its result needs memory of its own and is
// copied to where the loop carries it, on every turn. Two turns written out go there and back: the
// second writes where the first has read. A barrier keeps fusion from computing the first inside of
// the second.
#include <algorithm>
#include <unordered_map>

#include "compiler/ir/builder.h"
#include "compiler/ir/clone.h"
#include "compiler/ir/readings.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/ranges.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kLargePaired = 4096;
constexpr size_t kMaxPairedOps = 96;
constexpr int64_t kFewPairedTurns = 4;

// How what a body gives reads the array that the loop carries in a lane. What it gives in other
// lanes is in memory before.
Read readOf(const Module& m, const Region& body, size_t lane) {
  Readings readings(m, body.args[lane]);
  for (OpId id : body.ops) {
    const Op& op = m.op(id);
    readings.add(op);
    const bool is_made = isElementwise(op.kind) && !(op.result() == body.results[lane]) &&
                         std::ranges::find(body.results, op.result()) != body.results.end();
    if (is_made) readings.add(op.result(), Read::none);
  }
  return readings.of(body.results[lane]).read;
}

// Passes over arrays and nothing else, so that copying them counts.
bool onlyPasses(const Module& m, const Region& body) {
  return body.ops.size() <= kMaxPairedOps && std::ranges::all_of(body.ops, [&](OpId id) {
    const OpKind kind = m.op(id).kind;
    switch (opClass(kind)) {
      case OpClass::shape: case OpClass::index: case OpClass::source: return true;
      default:
        return isElementwise(kind) || kind == OpKind::convolution_ || kind == OpKind::reduce_ ||
               kind == OpKind::reduce_window_;
    }
  });
}

// Whether the next array is this turn's with small parts of it set anew, which wants no copy of it.
bool isUpdated(const Rewriter& rw, const Region& body, size_t lane) {
  Value v = body.results[lane];
  while (const Op* update = rw.def(v)) {
    if (update->kind == OpKind::reshape_) {
      v = update->operand(0);
      continue;
    }
    const bool scatters = update->kind == OpKind::scatter_;
    if (!scatters && update->kind != OpKind::dynamic_update_slice_) return false;
    const Value part = scatters ? update->operands.back() : update->operand(1);
    if (2 * rw.shape(part).elements() > rw.shape(v).elements()) return false;
    v = update->operand(rw.module().value(v).index);
  }
  return v == body.args[lane];
}

// Whether a large array of the next turn comes to lie elsewhere than this turn's.
bool wantsCopies(const Rewriter& rw, const Region& body) {
  for (size_t i = 0; i < body.args.size(); ++i) {
    if (rw.module().type(body.args[i]).is_token) continue;
    if (rw.shape(body.args[i]).elements() < kLargePaired || isUpdated(rw, body, i)) continue;
    const Value next = body.results[i];
    const bool shifted = !rw.def(next) && !(next == body.args[i]);
    if (shifted || readOf(rw.module(), body, i) >= Read::window) return true;
  }
  return false;
}

// The array with `inner` in it from `start` on, joined from what lies around it, the last dimension
// first.
Value joined(Builder& b, Value array, Value inner, Ints start) {
  const Dims dims = b.shape(array).dims;
  Ints limit = start;
  for (size_t d = 0; d < dims.size(); ++d) limit[d] += b.shape(inner).dims[d];
  for (size_t d = dims.size(); d-- > 0;) {
    Values parts;
    auto add = [&](int64_t from, int64_t to) {
      if (from == to) return;
      Ints first = start, last = limit;
      first[d] = from;
      last[d] = to;
      parts.push_back(b.slice(array, first, last, Ints(first.size(), 1)));
    };
    add(0, start[d]);
    parts.push_back(inner);
    add(limit[d], dims[d]);
    if (parts.size() > 1) inner = b.concatenate(parts, static_cast<int64_t>(d));
    start[d] = 0;
    limit[d] = dims[d];
  }
  return inner;
}

class Pairing : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool enter(OpId id) override {
    if (op(id).kind != OpKind::while_) return false;
    const Region& body = module().region(op(id).regions[1]);
    const std::optional<Counter> counter = counterOf(*this, op(id));
    if (!counter || !onlyPasses(module(), body) || !wantsCopies(*this, body)) return false;
    const int64_t turns = (counter->limit - counter->first + counter->step - 1) / counter->step;
    if (turns < kFewPairedTurns) return false;
    joinUpdates(op(id).regions[1]);
    if (turns % 2 == 1) writeOutFirst(id, *counter);
    pair(id);
    setChanged();
    return false;
  }
  bool visit(OpId) override { return false; }

 private:
  // An update of most of an array by what is read elsewhere in it cannot be made in place: the next
  // array is made in one pass instead.
  void joinUpdates(RegionId id) {
    for (size_t i = 0; i < module().region(id).args.size(); ++i) {
      const Value array = module().region(id).args[i], result = module().region(id).results[i];
      const Op* update = def(result, OpKind::dynamic_update_slice_);
      if (!update || update->operand(0) != array) continue;
      const Value inner = update->operand(1);
      const Window window = windowOf(module(), *update);
      if (!window.at.empty() || 2 * shape(inner).elements() < shape(array).elements()) continue;
      if (readOf(module(), module().region(id), i) != Read::elsewhere) continue;
      joinUpdate(id, result, window.start);
    }
  }

  // In its place, as others may read the result.
  void joinUpdate(RegionId id, Value result, const Ints& start) {
    const Op update = *def(result);
    const OpId old = module().value(result).def;
    const size_t before = module().region(id).ops.size();
    Builder b(module(), id, update.loc);
    const Value next = joined(b, update.operand(0), update.operand(1), start);
    Region& body = module().region(id);
    std::rotate(std::ranges::find(body.ops, old), body.ops.begin() + static_cast<ptrdiff_t>(before),
                body.ops.end());
    for (OpId user : body.ops) std::ranges::replace(module().op(user).operands, result, next);
    std::ranges::replace(body.results, result, next);
  }

  void writeOutFirst(OpId id, const Counter& counter) {
    Values next = inlineRegion(copier_.copy(op(id).regions[1]), op(id).operands);
    next[counter.lane] =
        like(next[counter.lane], static_cast<double>(counter.first + counter.step));
    module().op(id).operands = next;
  }

  void pair(OpId id) {
    const RegionId body = op(id).regions[1];
    const RegionId second = copier_.copy(body);
    std::vector<Type> types;
    for (Value v : module().region(body).results) types.push_back(module().type(v));
    const OpId barrier = module().addOp(OpKind::optimization_barrier_,
                                        Values(module().region(body).results), types);
    for (size_t i = 0; i < types.size(); ++i)
      replace(module().region(second).args[i], op(barrier).result(i));
    std::vector<OpId>& ops = module().region(body).ops;
    ops.push_back(barrier);
    const std::vector<OpId> more = std::move(module().region(second).ops);
    ops.insert(ops.end(), more.begin(), more.end());
    module().region(body).results = module().region(second).results;
  }

  RegionCopier copier_{module(), module()};
};

}  // namespace

PassResult pairTurns(Module& module) { return Pairing(module).run(); }

}  // namespace tercel::passes
