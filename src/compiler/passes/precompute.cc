// What a program computes of constants alone, computed while it is compiled and not on every run.
// What the evaluator is fast enough for is fold's.
#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "compiler/ir/clone.h"
#include "compiler/ir/parallel_loop.h"
#include "compiler/ir/rename.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

// Nanoseconds, about. The least is what compiling a program of its own is worth, the most what a
// compilation may take longer.
constexpr double kLeastWork = 5e3, kMostWork = 5e8;
constexpr int64_t kMostBytes = 16 << 20;  // of all that becomes constants of a program
constexpr int64_t kCachedBytes = 1 << 18;

// Of reading a constant where it could be computed.
double readingWork(int64_t bytes) { return bytes * (bytes <= kCachedBytes ? 0.05 : 0.2); }

double productWork(const Module& m, const Op& op) {
  const int64_t sums = m.shape(op.result()).elements();
  const int64_t operand = m.shape(op.operand(op.kind == OpKind::convolution_)).elements();
  return 0.05 * sums * std::max<int64_t>(1, operand);
}

// Of an op without what is in its regions, which comes to little beside it.
double workOf(const Module& m, const Op& op) {
  int64_t read = 0, made = 0;
  for (Value v : op.operands) read += m.shape(v).elements();
  for (Value v : op.results) made += m.shape(v).elements();
  switch (op.kind) {
    case OpKind::reduce_: return 0.1 * read;
    case OpKind::reduce_window_:
    case OpKind::scatter_:
    case OpKind::select_and_scatter_:
    case OpKind::gather_:
    case OpKind::rng_bit_generator_: return read + made;
    case OpKind::sort_:
    case OpKind::fft_: return 10.0 * made;
    case OpKind::dot_general_:
    case OpKind::convolution_: return productWork(m, op);
    case OpKind::cholesky_:
    case OpKind::triangular_solve_: return 100.0 * made;
    case OpKind::power_: return 1.5 * made;
    default: break;
  }
  if (isCostly(op.kind)) return 0.4 * made;
  return isElementwise(op.kind) ? 0.03 * made : 0;
}

class Precompute {
 public:
  Precompute(Module& module, const Compute& compute)
      : m_(module), compute_(compute), known_(module.valueCount()) {}

  Result<bool> run() {
    const Region& main = m_.region(m_.main().body);
    for (OpId id : main.ops) {
      Op& op = m_.op(id);
      if (!isKnown(op)) continue;
      any_ |= op.kind != OpKind::constant_;
      for (Value v : op.results) known_[v.index] = true;
    }
    if (!any_) return false;
    for (OpId id : main.ops)
      if (!isKnown(m_.op(id))) forEachRead(m_, m_.op(id), [&](Value v) { consider(v); });
    if (taken_.empty()) return false;
    Result<std::vector<Literal>> literals = compute_(programOf(taken_));
    if (!literals.ok()) return false;  // each run computes it, or says what is wrong with it
    return replace(*literals);
  }

 private:
  bool isKnown(const Op& op) const {
    if (!isPure(op) || op.results.empty()) return false;
    const bool is_code = !op.regions.empty() && !actsOnElements(op.kind);
    if (is_code && !countedLoop(m_, op)) return false;
    return readsKnown(op);
  }

  // Of what is defined outside of the op.
  bool readsKnown(const Op& op) const {
    std::unordered_set<uint32_t> inner;
    for (RegionId region : op.regions) addDefined(region, inner);
    bool known = true;
    forEachRead(m_, op, [&](Value v) { known &= inner.contains(v.index) || isKnown(v); });
    return known;
  }

  bool isKnown(Value v) const { return v.index < known_.size() && known_[v.index]; }

  void addDefined(RegionId region, std::unordered_set<uint32_t>& values) const {
    for (Value v : m_.region(region).args) values.insert(v.index);
    forEachOp(m_, region, [&](OpId id, RegionId) {
      for (Value v : m_.op(id).results) values.insert(v.index);
      for (RegionId inner : m_.op(id).regions)
        for (Value v : m_.region(inner).args) values.insert(v.index);
    });
  }

  // As late as possible: v, unless making it costs little beside reading it, or it repeats values.
  void consider(Value v) {
    if (!isKnown(v) || !seen_.insert(v.index).second) return;
    const Op& op = *m_.def(v);
    if (op.kind == OpKind::constant_) return;
    const int64_t bytes = m_.shape(v).bytes();
    if (!repeats(op) && bytes_ + bytes <= kMostBytes && isWorth(v, bytes)) {
      bytes_ += bytes;
      taken_.push_back(v);
      return;
    }
    for (Value operand : op.operands) consider(operand);
  }

  bool repeats(const Op& op) const {
    if (opClass(op.kind) != OpClass::shape) return false;
    int64_t read = 0;
    for (Value v : op.operands) read += m_.shape(v).bytes();
    return m_.shape(op.result()).bytes() > read;
  }

  bool isWorth(Value v, int64_t bytes) const {
    const double work = workFor({v});
    return work >= std::max(kLeastWork, readingWork(bytes)) && work <= kMostWork;
  }

  // The ops of main that it takes to make values, in no order.
  std::unordered_set<uint32_t> opsFor(Values todo) const {
    std::unordered_set<uint32_t> ops;
    while (!todo.empty()) {
      const OpId id = m_.value(todo.back()).def;
      todo.pop_back();
      if (!id.valid() || !ops.insert(id.index).second) continue;
      forEachRead(m_, m_.op(id), [&](Value v) {
        if (isKnown(v)) todo.push_back(v);
      });
    }
    return ops;
  }

  double workFor(Values values) const {
    double work = 0;
    for (uint32_t id : opsFor(std::move(values))) work += workWithin(m_.op(OpId{id}));
    return work;
  }

  double workWithin(const Op& op) const {
    if (op.kind != OpKind::while_) return workOf(m_, op);
    constexpr double kTurn = 20;
    double turn = kTurn;
    for (OpId id : m_.region(op.regions[1]).ops) turn += workWithin(m_.op(id));
    const std::optional<CountedLoop> counted = countedLoop(m_, op);
    return turn * (counted ? static_cast<double>(counted->turns) : kMostWork);
  }

  Module programOf(const Values& results) const {
    const std::unordered_set<uint32_t> needed = opsFor(results);
    Module program = m_;
    Function& main = program.main();
    Region& body = program.region(main.body);
    std::erase_if(body.ops, [&](OpId id) { return !needed.contains(id.index); });
    body.args.clear();
    body.results = results;
    main.args.clear();
    main.results.assign(results.size(), {});
    compact(program);
    return program;
  }

  // The constants stand where main begins.
  Result<bool> replace(std::span<const Literal> literals) {
    std::vector<OpId>& ops = m_.region(m_.main().body).ops;
    std::vector<OpId> constants;
    Renamed by;
    for (size_t i = 0; i < taken_.size(); ++i) {
      const Type type = m_.type(taken_[i]);
      constants.push_back(m_.addOp(OpKind::constant_, {}, {&type, 1}));
      Op& constant = m_.op(constants.back());
      constant.set(AttrKey::value, literals[i]);
      constant.loc = m_.def(taken_[i])->loc;
      by.emplace(taken_[i].index, constant.result());
    }
    rename(m_, m_.main().body, by);
    ops.insert(ops.begin(), constants.begin(), constants.end());
    return true;
  }

  Module& m_;
  const Compute& compute_;
  std::vector<bool> known_;             // by value, those of main
  std::unordered_set<uint32_t> seen_;   // values
  Values taken_;
  int64_t bytes_ = 0;
  bool any_ = false;
};

}  // namespace

PassResult precompute(Module& module, const Compute& compute) {
  if (!compute) return false;
  return Precompute(module, compute).run();
}

}  // namespace tercel::passes
