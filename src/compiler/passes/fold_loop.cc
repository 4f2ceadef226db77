// Loops whose number of turns follows from constants: none, one, or so few that the turns are
// better written out. That is so where a turn passes over large arrays, which ops written out pass
// over once, together, and where it exchanges few elements, which are values of their own then
// (canonicalise_few.cc); other loops over small ones become one function as they are
// (plan/region.h).
#include <algorithm>
#include <functional>

#include "compiler/ir/clone.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/fold.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int kMaxTurns = 8;
constexpr int64_t kMaxUnrolledOps = 512;
constexpr int64_t kLargeElements = 2048;
constexpr int64_t kFewElements = 4;
// Ops looked at to find the value of a scalar.
constexpr int kMaxOpsOfScalar = 16;

using Known = std::vector<std::optional<Literal>>;

// The scalars of a region some of whose arguments are known, found on demand.
class KnownRegion {
 public:
  KnownRegion(Rewriter& rw, RegionId region, const Known& args)
      : rw_(rw), region_(region), args_(args) {}

  std::optional<Literal> result(size_t i) { return value(rw_.module().region(region_).results[i]); }

 private:
  std::optional<Literal> value(Value v) {
    if (const Literal* literal = constantOf(rw_, v)) return *literal;
    const Op* op = rw_.def(v);
    if (!op) return argument(v);
    if (++visited_ > kMaxOpsOfScalar || !isPure(*op) || !op->regions.empty()) return {};
    if (op->results.size() != 1 || rw_.shape(v).rank() != 0) return {};
    std::vector<Literal> operands;
    for (Value operand : op->operands) {
      std::optional<Literal> literal = value(operand);
      if (!literal) return {};
      operands.push_back(std::move(*literal));
    }
    return evaluated(rw_.module(), *op, operands);
  }

  std::optional<Literal> argument(Value v) {
    const Values& args = rw_.module().region(region_).args;
    size_t i = rw_.module().value(v).index;
    return i < args.size() && args[i] == v ? args_[i] : std::nullopt;
  }

  Rewriter& rw_;
  RegionId region_;
  const Known& args_;
  int visited_ = 0;
};

// How often the loop runs, where that is known and at most kMaxTurns.
std::optional<int> turnsOf(Rewriter& rw, const Op& loop) {
  Known carried;
  for (Value v : loop.operands) {
    const Literal* literal = rw.shape(v).rank() == 0 ? constantOf(rw, v) : nullptr;
    carried.push_back(literal ? std::optional(*literal) : std::nullopt);
  }
  for (int turn = 0; turn <= kMaxTurns; ++turn) {
    std::optional<Literal> goes_on = KnownRegion(rw, loop.regions[0], carried).result(0);
    if (!goes_on) return {};
    if (!goes_on->at<bool>(0)) return turn;
    Known next;
    for (size_t i = 0; i < carried.size(); ++i)
      next.push_back(carried[i] ? KnownRegion(rw, loop.regions[1], carried).result(i)
                                : std::nullopt);
    carried = std::move(next);
  }
  return {};
}

bool isElementwiseWork(const Rewriter& rw, const std::vector<OpId>& ops) {
  return std::ranges::all_of(ops, [&](OpId id) {
    const Op& op = rw.op(id);
    return op.regions.empty() && (isElementwise(op.kind) || opClass(op.kind) == OpClass::source ||
                                  opClass(op.kind) == OpClass::shape);
  });
}

// Elementwise work that fuses into passes over large arrays.
bool worksOnLarge(const Rewriter& rw, const std::vector<OpId>& ops) {
  return std::ranges::any_of(ops, [&](OpId id) {
    const Op& op = rw.op(id);
    return isElementwise(op.kind) && rw.shape(op.result()).elements() > kLargeElements;
  });
}

// What takes long, one turn after another: a loop has several vectors side by side instead.
bool takesLong(const Rewriter& rw, const std::vector<OpId>& ops, int turns) {
  constexpr int64_t kMostCostly = 2;
  return turns * std::ranges::count_if(ops, [&](OpId id) { return isCostly(rw.op(id).kind); }) >
         kMostCostly;
}

// Scatters of one number into few, or of one for each of a batch, with what finds them.
bool exchangesFew(const Rewriter& rw, const std::vector<OpId>& ops) {
  bool scatters = false;
  for (OpId id : ops) {
    const Op& op = rw.op(id);
    const bool cheap = isElementwise(op.kind) || opClass(op.kind) == OpClass::source ||
                       opClass(op.kind) == OpClass::shape || opClass(op.kind) == OpClass::index;
    if (!cheap || op.kind == OpKind::map_ || op.results.size() != 1) return false;
    if (op.kind != OpKind::scatter_) continue;
    const Ints& along = op.ints(AttrKey::scatter_dims_to_operand_dims);
    if (along.size() != 1 || rw.shape(op.operand(0)).dims[along[0]] > kFewElements) return false;
    scatters = true;
  }
  return scatters;
}

// What each turn finds in tables of constants, as threefry its rotations, is known once it is
// written out.
bool carriesTables(const Rewriter& rw, const Op& loop) {
  const Region& body = rw.module().region(loop.regions[1]);
  for (size_t i = 0; i < loop.operands.size(); ++i) {
    const Op* table = rw.def(loop.operand(i), OpKind::constant_);
    if (table && !table->literal().isSplat() && body.results[i] != body.args[i]) return true;
  }
  return false;
}

bool worthUnrolling(const Rewriter& rw, const Op& loop, int turns) {
  const std::vector<OpId>& ops = rw.module().region(loop.regions[1]).ops;
  if (static_cast<int64_t>(ops.size()) * turns > kMaxUnrolledOps) return false;
  if (turns <= kFewElements && exchangesFew(rw, ops)) return true;
  if (!isElementwiseWork(rw, ops)) return false;
  return carriesTables(rw, loop) || (worksOnLarge(rw, ops) && !takesLong(rw, ops, turns));
}

}  // namespace

bool foldedLoop(Rewriter& rw, const Op& loop) {
  RegionId body = loop.regions[1];
  if (hasEffects(rw.module(), loop.regions[0])) return false;
  std::optional<int> turns = turnsOf(rw, loop);
  if (!turns || (*turns > 1 && !worthUnrolling(rw, loop, *turns))) return false;
  Values carried = loop.operands;
  RegionCopier copier(rw.module(), rw.module());
  for (int turn = 1; turn < *turns; ++turn) carried = rw.inlineRegion(copier.copy(body), carried);
  if (*turns > 0) carried = rw.inlineRegion(body, carried);
  rw.replaceAll(loop, carried);
  return true;
}

}  // namespace tercel::passes
