// A stencil reads the neighbours of what it writes, so its result needs memory of its own and is
// copied to where the loop carries it, on every turn. Two turns written out go there and back: the
// second writes where the first has read. A barrier keeps fusion from computing the first inside of
// the second.
#include <algorithm>
#include <unordered_map>

#include "compiler/ir/builder.h"
#include "compiler/ir/clone.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/ranges.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kLargeElements = 4096;
constexpr size_t kMaxOps = 96;
constexpr int64_t kFewTurns = 4;

// Part of an array: where it starts, as numbers or else as the values that say so.
struct Window {
  Ints start;
  Values at;
  Dims dims;
  bool operator==(const Window&) const = default;
};

enum class Read : uint8_t { none, in_place, window, elsewhere };

// How a value reads an array: at its own element, at that of a part, or any.
struct Reading {
  Read read = Read::none;
  Window window = {};
  bool operator==(const Reading&) const = default;
};

Reading both(const Reading& a, const Reading& b) {
  if (a.read == Read::none || a == b) return b;
  return b.read == Read::none ? a : Reading{Read::elsewhere};
}

// Of a slice or an update that says where by `at`.
Window windowAt(const Rewriter& rw, std::span<const Value> at, const Dims& array, Dims dims) {
  std::optional<Ints> start = scalarIntegers(rw, at);
  if (!start) return {{}, Values(at.begin(), at.end()), std::move(dims)};
  for (size_t d = 0; d < array.size(); ++d)
    (*start)[d] = std::clamp<int64_t>((*start)[d], 0, array[d] - dims[d]);
  return {*std::move(start), {}, std::move(dims)};
}

Window windowOf(const Rewriter& rw, const Op& update) {
  return windowAt(rw, std::span(update.operands).subspan(2), rw.shape(update.operand(0)).dims,
                  rw.shape(update.operand(1)).dims);
}

// How the values of a body read what the loop carries in one lane.
class Reads {
 public:
  Reads(const Rewriter& rw, const Region& body, size_t lane) : rw_(rw) {
    readings_[body.args[lane].index] = {Read::in_place};
    for (OpId id : body.ops)
      for (Value v : rw.op(id).results) readings_[v.index] = reading(rw.op(id));
  }
  Read of(Value v) const { return readingOf(v).read; }

 private:
  Reading readingOf(Value v) const {
    auto at = readings_.find(v.index);
    return at == readings_.end() ? Reading{} : at->second;
  }

  Reading reading(const Op& op) const {
    Reading all;
    for (Value v : op.operands) all = both(all, readingOf(v));
    if (all.read == Read::none || isElementwise(op.kind) || op.kind == OpKind::reshape_) return all;
    const bool one = std::ranges::none_of(std::span(op.operands).subspan(1), [&](Value v) {
      return of(v) != Read::none;
    });
    const bool whole = one && all.read == Read::in_place;
    switch (op.kind) {
      case OpKind::slice_:
        if (!whole || !isDense(op)) break;
        return {Read::window, {op.ints(AttrKey::start_indices), {}, rw_.shape(op.result()).dims}};
      case OpKind::dynamic_slice_:
        if (!whole) break;
        return {Read::window, windowAt(rw_, std::span(op.operands).subspan(1),
                                       rw_.shape(op.operand(0)).dims, rw_.shape(op.result()).dims)};
      case OpKind::dynamic_update_slice_:  // an update is in memory before anybody reads it
        if (one || updatesWhereItReads(op)) return readingOf(op.operand(0));
        if (of(op.operand(0)) == Read::none) return {};
        break;
      case OpKind::scatter_:
        if (one) return all;
        break;
      default: break;
    }
    return {Read::elsewhere};
  }

  static bool isDense(const Op& slice) {
    return std::ranges::all_of(slice.ints(AttrKey::strides), [](int64_t s) { return s == 1; });
  }

  bool updatesWhereItReads(const Op& update) const {
    const Reading inner = readingOf(update.operand(1));
    return of(update.operand(0)) == Read::in_place && inner.read == Read::window &&
           inner.window == windowOf(rw_, update) &&
           std::ranges::all_of(std::span(update.operands).subspan(2),
                               [&](Value v) { return of(v) == Read::none; });
  }

  const Rewriter& rw_;
  std::unordered_map<uint32_t, Reading> readings_;  // by value; of others: none
};

// Passes over arrays and nothing else, so that copying them counts.
bool onlyPasses(const Module& m, const Region& body) {
  return body.ops.size() <= kMaxOps && std::ranges::all_of(body.ops, [&](OpId id) {
    const OpKind kind = m.op(id).kind;
    switch (opClass(kind)) {
      case OpClass::shape: case OpClass::index: case OpClass::source: return true;
      default:
        return isElementwise(kind) || kind == OpKind::convolution_ || kind == OpKind::reduce_ ||
               kind == OpKind::reduce_window_;
    }
  });
}

// Whether a large array of the next turn comes to lie elsewhere than this turn's.
bool wantsCopies(const Rewriter& rw, const Region& body) {
  for (size_t i = 0; i < body.args.size(); ++i) {
    if (rw.module().type(body.args[i]).is_token) continue;
    if (rw.shape(body.args[i]).elements() < kLargeElements) continue;
    const Value next = body.results[i];
    const bool shifted = !rw.def(next) && !(next == body.args[i]);
    if (shifted || Reads(rw, body, i).of(next) >= Read::window) return true;
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
    if (turns < kFewTurns) return false;
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
      const Window window = windowOf(*this, *update);
      if (!window.at.empty() || 2 * shape(inner).elements() < shape(array).elements()) continue;
      if (Reads(*this, module().region(id), i).of(result) != Read::elsewhere) continue;
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
