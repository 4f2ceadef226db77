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
constexpr size_t kMostTried = 500;  // values, each with all that it is made of

// Of reading a constant where it could be computed.
double readingWork(int64_t bytes) { return bytes * (bytes <= kCachedBytes ? 0.05 : 0.2); }

double productWork(const Module& m, const Op& op) {
  double terms = 1;
  if (op.kind == OpKind::convolution_) terms = double(m.shape(op.operand(1)).elements());
  for (int64_t d : op.ints(AttrKey::lhs_contracting_dimensions))
    terms *= double(m.shape(op.operand(0)).dims[d]);
  return 0.05 * double(m.shape(op.result()).elements()) * terms;
}

// Of an op without what its regions do with single elements, which comes to little beside it.
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
    double work = 0;
    for (OpId id : main.ops) {
      const Op& op = m_.op(id);
      if (!isKnown(op)) continue;
      work += workWithin(op);
      for (Value v : op.results) known_[v.index] = true;
    }
    if (work < kLeastWork) return false;
    for (OpId id : main.ops)
      if (!isKnown(m_.op(id))) forEachRead(m_, m_.op(id), [&](Value v) { consider(v); });
    if (taken_.empty()) return false;
    Result<std::vector<Literal>> literals = compute_(programOf(taken_));
    if (!literals.ok()) return false;  // each run computes it, or says what is wrong with it
    return replace(*literals);
  }

 private:
  bool isKnown(const Op& op) const {
    const bool is_code = !op.regions.empty() && !actsOnElements(op.kind);
    return isPureWithin(op) && !(is_code && !countedLoop(m_, op)) && readsKnown(op);
  }

  bool isPureWithin(const Op& op) const {
    auto isToken = [&](Value v) { return m_.type(v).is_token; };
    if (!isPure(op) || std::ranges::any_of(op.results, isToken)) return false;
    bool pure = true;
    for (RegionId region : op.regions)
      forEachOp(m_, region, [&](OpId id, RegionId) { pure &= isPure(m_.op(id)); });
    return pure;
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
    if (!isKnown(v) || seen_.size() == kMostTried || !seen_.insert(v.index).second) return;
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

  // A loop that may go on is too much work.
  double workWithin(const Op& op) const {
    if (op.regions.empty() || actsOnElements(op.kind)) return workOf(m_, op);
    constexpr double kTurn = 20;
    double work = kTurn;
    for (RegionId region : op.regions)
      for (OpId id : m_.region(region).ops) work += workWithin(m_.op(id));
    if (op.kind != OpKind::while_) return work;
    const std::optional<CountedLoop> counted = countedLoop(m_, op);
    return work * (counted ? static_cast<double>(counted->turns) : kMostWork);
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
};

}  // namespace

PassResult precompute(Module& module, const Compute& compute) {
  if (!compute) return false;
  return Precompute(module, compute).run();
}

}  // namespace tercel::passes
