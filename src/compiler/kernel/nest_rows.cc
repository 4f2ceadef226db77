// Reductions over rows with what feeds them and what uses them, one row (or a few columns) at a
// time: softmax and layer norm read their row from memory once.
#include <algorithm>

#include "compiler/kernel/lane_fold.h"
#include "compiler/kernel/lane_plan.h"
#include "compiler/kernel/reducer.h"
#include "compiler/kernel/row_stages.h"

namespace tercel::kernel {
namespace {

using ir::Op;
using ir::Value;
using Elems = std::vector<Elem>;

constexpr int64_t kMaxSavedRow = 64 << 10;  // elements
constexpr int64_t kMaxSavedColumns = 512 << 10;  // bytes, half of a small L2 cache
constexpr int64_t kFewVectors = 2;  // side by side: one would leave half of what memory brings

std::span<const Elem> part(const Elems& elems, size_t size, size_t which) {
  return std::span(elems).subspan(size * which, size);
}

// A value kept in scratch memory from the stage that makes it.
struct Saved {
  size_t op;
  int stage;
  BufferId scratch;
};

class RowsNest {
 public:
  explicit RowsNest(Lowering& low)
      : m_(low.module), low_(low), cluster_(low.cluster), b_(low.builder), space_(b_),
        stages_(m_, cluster_), plan_(low, space_) {}

  void run() {
    plan_.choose(cluster_.domain, cluster_.reduced,
                 [&](Emitter& e, const Indices& i) { probe(e, i); });
    repeatable_ = std::ranges::all_of(
        stages_.reductions(), [&](size_t r) { return initIsRepeatable(m_, stages_.op(r)); });
    constexpr int64_t kAccumulators = 8, kOfGathered = 2, kOfShortRows = 4;
    // Such rows are no loops, whose additions wait for each other. A task of little work must pay.
    bool is_short = rowSize() <= 4 && cluster_.ops.size() > 4;
    int64_t carried = std::max<int64_t>(1, static_cast<int64_t>(stages_.accumulators()));
    bool gathers = plan_.avoidRowsUpTo(longestGatheredRow());
    int64_t most = gathers ? kOfGathered : is_short ? kOfShortRows : kAccumulators;
    width_ = std::max<int64_t>(1, most / carried);
    if (plan_.rows() && !repeatable_) plan_.useScalars();
    plan_.blockRowsUpTo(longestBlockedRow());
    findSaved();
    streaming_ = plan_.streams();
    if (stages_.sumsProducts()) b_.forgetSubnormals();
    plan_.forTasks(width_, [&](Emitter& e, const std::vector<Index>& groups,
                               std::span<const Position> columns) {
      if (plan_.blocks()) return emitBlock(e, groups, columns[0]);
      plan_.rows() ? emitRow(e, groups) : emitColumns(e, groups, columns);
    });
  }

 private:
  // Touches everything once, reductions as opaque numbers.
  void probe(Emitter& e, const Indices& domain) {
    for (size_t r : stages_.reductions())
      for (Value v : stages_.op(r).results) {
        Type type{computedScalar(m_.shape(v).dtype), 1};
        V x = e.builder().opaque(type);
        e.bindElem(v, {x, isComplex(m_.shape(v).dtype) ? x : V{}});
      }
    for (size_t r : stages_.reductions()) operands(e, r, domain);
    for (size_t o = 0; o < cluster_.outputs.size(); ++o)
      storeOutput(e, o, stages_.outputIndices(o, domain));
  }

  // Whether merging lanes takes many instructions: all but one operation that the machine has.
  bool foldsSlowly(const Op& reduction) const {
    const ir::Region& body = m_.region(reduction.regions[0]);
    if (body.ops.size() != 1) return true;
    ir::OpKind kind = m_.op(body.ops[0]).kind;
    bool extremum = kind == ir::OpKind::maximum_ || kind == ir::OpKind::minimum_;
    return extremum && isFloat(m_.shape(reduction.result()).dtype);
  }

  bool foldsSlowly() const {
    return std::ranges::any_of(stages_.reductions(),
                               [&](size_t r) { return foldsSlowly(stages_.op(r)); });
  }

  // Whether few vectors hold the elements of as many rows as there are lanes.
  bool readsNarrow() const {
    return std::ranges::all_of(cluster_.inputs, [&](Value v) {
      return byteSize(m_.shape(v).dtype) <= 2;
    });
  }

  // To merge the lanes of such a row takes longer than to gather, and scatter, its elements.
  int64_t longestGatheredRow() const {
    const int words = low_.machine.vector_bytes / 4;
    const int lanes = std::min(vectorLanes(m_, cluster_, low_.machine), words);
    return foldsSlowly() || readsNarrow() ? 3 * lanes / 4 : 3 * lanes / 8;
  }

  // To merge the lanes of such a row takes so long, beside the rest, that those of many rows are
  // better merged at once.
  int64_t longestBlockedRow() const {
    bool plain = std::ranges::all_of(stages_.reductions(), [&](size_t r) {
      return std::ranges::none_of(stages_.op(r).results, [&](Value v) {
        DType dtype = m_.shape(v).dtype;
        return isPred(dtype) || isComplex(dtype);
      });
    });
    return plain && foldsSlowly() ? 32 * plan_.lanes() : 0;
  }

  static size_t width(const Op& reduction) { return reduction.results.size(); }

  Elems operands(Emitter& e, size_t r, const Indices& domain) {
    Elems elems;
    Indices at = stages_.operandIndices(r, domain);
    for (size_t k = 0; k < width(stages_.op(r)); ++k)
      elems.push_back(e.at(stages_.op(r).operand(k), at));
    return elems;
  }

  void storeOutput(Emitter& e, size_t o, const Indices& at) {
    Value v = cluster_.outputs[o];
    Elem elem = e.at(v, at);
    e.streaming = streaming_;
    low_.storeOutput(e, o, e.space().linear(at, m_.shape(v).dims), elem);
    e.streaming = false;
  }

  int64_t rowSize() const {
    int64_t size = 1;
    for (size_t d = 0; d < cluster_.domain.size(); ++d)
      if (cluster_.reduced[d]) size *= cluster_.domain[d];
    return size;
  }

  // Costly values that a later stage needs again are kept in scratch memory, a row or a task's
  // columns of them.
  void findSaved() {
    auto reused = stages_.reused();
    std::erase_if(reused, [&](const auto& r) { return isComplex(savedType(r.op)); });
    int64_t row = rowSize(), bytes = 0;
    for (const auto& r : reused) bytes += byteSize(computedScalar(savedType(r.op)));
    if (plan_.rows()) {
      if (row > kMaxSavedRow) return;
    } else {
      int64_t vector = row * bytes * plan_.lanes();
      if (std::min(width_, kFewVectors) * vector > kMaxSavedColumns) return;
      while (width_ * vector > kMaxSavedColumns) width_ /= 2;
      pitch_ = width_ * plan_.lanes();
    }
    row_size_ = row;
    int64_t rows = plan_.blocks() ? plan_.lanes() : 1;
    for (auto [op, stage] : reused)
      saved_.push_back(
          {op, stage, b_.addScratch(computedScalar(savedType(op)), rows * row * pitch_)});
  }

  DType savedType(size_t op) const { return m_.shape(stages_.op(op).result()).dtype; }

  // One accumulator for each result of each reduction of the stage.
  Elems startValues(Emitter& e, int stage) {
    Elems values;
    for (size_t r : stages_.reductionsOf(stage)) {
      const Op& op = stages_.op(r);
      for (size_t k = 0; k < width(op); ++k)
        values.push_back(elemWiden(b_, e.at(op.operand(width(op) + k), {}), plan_.lanes()));
    }
    return values;
  }

  // Everything a stage does at one place of the domain.
  Elems visit(Emitter& e, int stage, const Indices& domain, const Guard& guard,
              std::span<const Elem> before) {
    return e.guarded(guard, [&] {
      for (const Saved& s : saved_)
        if (s.stage == stage) save(e, s, domain);
      Elems now;
      for (size_t r : stages_.reductionsOf(stage)) {
        size_t n = width(stages_.op(r));
        auto mine = before.subspan(now.size(), n);
        Elems args(mine.begin(), mine.end());
        for (const Elem& x : operands(e, r, domain)) args.push_back(x);
        Elems next = e.runRegion(stages_.op(r).regions[0], args);
        for (size_t k = 0; k < n; ++k) {
          if (guard.lanes.valid()) next[k] = elemSelect(b_, guard.lanes, next[k], mine[k]);
          now.push_back(elemWiden(b_, next[k], b_.type(mine[k].re).lanes));
        }
      }
      for (size_t o = 0; o < cluster_.outputs.size(); ++o)
        if (stages_.isFullOutput(o) && stages_.outputStage(o) == stage) storeOutput(e, o, domain);
      return now;
    });
  }

  // Of a saved value: its place in the row, then its column in the task, or its row's start.
  Index savedIndex(const Indices& domain, const Index& column) {
    Index sum;
    int64_t stride = 1;
    for (size_t d = domain.size(); d-- > 0;) {
      if (!cluster_.reduced[d]) continue;
      sum = space_.add(sum, space_.scale(domain[d], stride));
      stride *= cluster_.domain[d];
    }
    return space_.add(space_.scale(sum, pitch_), column);
  }

  Index columnIndex(size_t w) {
    int lanes = plan_.lanes();
    Index lane = lanes > 1 ? space_.loop(b_.index(0), lanes, true) : Index(0);
    return space_.add(lane, Index(static_cast<int64_t>(w) * lanes));
  }

  // Scratch holds elements as they are in registers.
  void save(Emitter& e, const Saved& s, const Indices& domain) {
    Value v = stages_.op(s.op).result();
    DType dtype = m_.shape(v).dtype;
    DType held = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
    e.storeAt(s.scratch, held, savedIndex(domain, column_),
              e.at(v, stages_.mappedIndices(s.op, domain)));
  }

  void bindSaved(Emitter& e, int stage) {
    for (const Saved& s : saved_) {
      if (s.stage != stage) continue;
      std::vector<int32_t> map = cluster_.maps[s.op];
      auto place = [this, map, column = column_](std::span<const Index> at) {
        Indices domain(cluster_.domain.size());
        for (size_t i = 0; i < map.size(); ++i)
          if (map[i] >= 0) domain[static_cast<size_t>(map[i])] = at[i];
        return savedIndex(domain, column);
      };
      e.bindPlaced(stages_.op(s.op).result(), s.scratch, place);
    }
  }

  void bindReduced(Emitter& e, int stage, std::span<const Elem> values) {
    size_t at = 0;
    for (size_t r : stages_.reductionsOf(stage))
      for (Value v : stages_.op(r).results) {
        const Elem& x = values[at++];
        e.bindElem(v, {roundTo(b_, x.re, m_.shape(v).dtype), x.im});
      }
  }

  // Loops over the reduced groups but the vectorised one; `inner` does that.
  using Inner = std::function<Elems(std::vector<Index>&, Elems)>;
  Elems reducedLoops(Emitter& e, std::vector<Index> groups, Elems now, const Inner& inner) {
    std::vector<size_t> walked;
    Dims extents;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (!plan_.isWalked(g) || g == plan_.vector()) continue;
      walked.push_back(g);
      extents.push_back(plan_.loops().groupExtent(g));
    }
    return e.loops(extents, std::move(now), [&](const Indices& at, Elems values) {
      for (size_t i = 0; i < walked.size(); ++i) groups[walked[i]] = at[i];
      return inner(groups, std::move(values));
    });
  }

  void emitRow(Emitter& e, const std::vector<Index>& groups) {
    for (int stage = 0; stage < stages_.count(); ++stage) {
      Elems sums = e.scope([&] { return rowStage(e, stage, groups); });
      bindReduced(e, stage, sums);
      bindSaved(e, stage);
    }
    storeReducedOutputs(e, plan_.domainAt(groups));
  }

  void storeReducedOutputs(Emitter& e, const Indices& domain) {
    for (size_t o = 0; o < cluster_.outputs.size(); ++o)
      if (!stages_.isFullOutput(o))
        e.scope([&] { storeOutput(e, o, stages_.outputIndices(o, domain)); });
  }

  Elems rowStage(Emitter& e, int stage, const std::vector<Index>& groups) {
    return foldLanes(b_, rowVectors(e, stage, groups), plan_.lanes(), merge(e, stage));
  }

  // Whose lanes are still to be merged.
  Elems rowVectors(Emitter& e, int stage, const std::vector<Index>& groups) {
    Elems start = startValues(e, stage);
    size_t n = start.size();
    // Several accumulators start from the init several times. Additions that wait for each other
    // are hidden by work that does not.
    bool several = n > 0 && n <= 2 && plan_.vectorExtent() >= 8 * plan_.lanes() && repeatable_ &&
                   !stages_.computesCostly(stage);
    size_t unroll = !several ? 1 : n == 1 && low_.machine.vector_bytes < 64 ? 8 : 4;
    Elems now;
    for (size_t u = 0; u < unroll; ++u) now.insert(now.end(), start.begin(), start.end());
    now = reducedLoops(e, groups, now, [&](std::vector<Index>& at, Elems values) {
      return vectorLoop(e, stage, at, std::move(values), n);
    });
    Elems sums(now.begin(), now.begin() + static_cast<int64_t>(n));
    for (size_t u = 1; u < unroll; ++u) sums = merge(e, stage)(sums, part(now, n, u));
    return sums;
  }

  // Rows one after another; where all have been, their lanes are merged at once.
  void emitBlock(Emitter& e, std::vector<Index> groups, const Position& rows) {
    int64_t lanes = plan_.lanes();
    std::vector<std::vector<BufferId>> kept;  // of each stage: the accumulators of the rows
    std::vector<Elems> sums;
    for (int stage = 0; stage < stages_.count(); ++stage) {
      std::vector<BufferId> squares;
      for (const Elem& x : startValues(e, stage))
        squares.push_back(b_.addScratch(b_.type(x.re).scalar, lanes * lanes));
      b_.forLoop(b_.index(0), rows.count, 1, [&](V row) {
        e.scope([&] {
          groups[plan_.rowGroup()] = space_.loop(b_.iadd(rows.first, row), plan_.rowCount());
          column_ = space_.scale(space_.loop(row, lanes), row_size_);
          for (int s = 0; s < stage; ++s) {
            Elems own;
            for (BufferId buffer : kept[static_cast<size_t>(s)])
              own.push_back({b_.load(buffer, row, 1), {}});
            bindReduced(e, s, own);
            bindSaved(e, s);
          }
          Elems vectors = rowVectors(e, stage, groups);
          for (size_t i = 0; i < squares.size(); ++i)
            b_.store(squares[i], b_.imul(row, b_.index(lanes)), vectors[i].re);
        });
      });
      kept.push_back(squares);
      if (squares.empty()) continue;
      sums.push_back(foldSquare(b_, squares, plan_.lanes(), merge(e, stage)));
      for (size_t i = 0; i < squares.size() && stage + 1 < stages_.count(); ++i)
        b_.store(squares[i], b_.index(0), sums.back()[i].re);
    }
    for (size_t stage = 0; stage < sums.size(); ++stage)
      bindReduced(e, static_cast<int>(stage), sums[stage]);
    groups[plan_.rowGroup()] = rows.index;
    e.guarded(rows.guard, [&] { storeReducedOutputs(e, plan_.domainAt(groups)); });
  }

  // As many vectors at a time as there are sets of `n` accumulators, then single ones, then the
  // rest.
  Elems vectorLoop(Emitter& e, int stage, std::vector<Index> groups, Elems now, size_t n) {
    if (plan_.empty()) return visit(e, stage, plan_.domainAt(groups), {}, now);
    int64_t lanes = plan_.lanes(), extent = plan_.vectorExtent();
    int64_t unroll = n == 0 ? 1 : static_cast<int64_t>(now.size() / n);
    auto visitAt = [&](V i, int64_t u, const Guard& guard, Elems& values) {
      groups[plan_.vector()] = plan_.vectorIndex(i, u * lanes);
      size_t which = static_cast<size_t>(u);
      Elems next = e.scope([&] {
        return visit(e, stage, plan_.domainAt(groups), guard, part(values, n, which));
      });
      std::ranges::copy(next, values.begin() + static_cast<int64_t>(n * which));
    };
    int64_t whole = extent / (lanes * unroll) * (lanes * unroll), vectors = extent / lanes * lanes;
    now = elemLoop(e, 0, whole, lanes * unroll, now, [&](V i, const Elems& before) {
      return bySubnormals(e, stage, before, [&](Elems values) {
        for (int64_t u = 0; u < unroll; ++u) visitAt(i, u, {}, values);
        return values;
      });
    });
    if (whole == extent) return now;
    return bySubnormals(e, stage, now, [&](Elems rest) {
      rest = elemLoop(e, whole, vectors, lanes, rest, [&](V i, Elems values) {
        visitAt(i, 0, {}, values);
        return values;
      });
      Guard last = firstLanes(b_, plan_.lanes(), b_.index(extent - vectors));
      if (vectors < extent) visitAt(b_.index(vectors), 0, last, rest);
      return rest;
    });
  }

  // Where products met subnormal numbers before, those to come are made in f64, which has no such.
  using Sums = std::function<Elems(Elems)>;
  Elems bySubnormals(Emitter& e, int stage, const Elems& before, const Sums& sums) {
    if (plan_.lanes() == 1 || !stages_.sumsProducts(stage)) return sums(before);
    auto branch = [&](bool in_doubles) {
      e.in_doubles = in_doubles;
      Builder::Values values;
      for (const Elem& x : e.scope([&] { return sums(before); }))
        for (V v : {x.re, x.im})
          if (v.valid()) values.push_back(v);
      e.in_doubles = false;
      return values;
    };
    auto values = b_.ifElse(b_.metSubnormals(), [&] { return branch(true); },
                            [&] { return branch(false); });
    Elems now = before;
    size_t at = 0;
    for (Elem& x : now)
      for (V* v : {&x.re, &x.im})
        if (v->valid()) *v = values[at++];
    return now;
  }

  // Runs the reducers of a stage on two sets of accumulators.
  Merge merge(Emitter& e, int stage) {
    return [this, &e, stage](std::span<const Elem> a, std::span<const Elem> b) {
      return e.scope([&] {
        Elems result;
        for (size_t r : stages_.reductionsOf(stage)) {
          size_t n = width(stages_.op(r));
          Elems args;
          for (auto side : {a, b})
            for (const Elem& x : side.subspan(result.size(), n)) args.push_back(x);
          for (const Elem& x : e.runRegion(stages_.op(r).regions[0], args)) result.push_back(x);
        }
        return result;
      });
    };
  }

  // Vectors side by side, each with accumulators of its own.
  void emitColumns(Emitter& e, std::vector<Index> groups, std::span<const Position> columns) {
    std::vector<Elems> sums(columns.size());  // of all stages so far
    for (int stage = 0; stage < stages_.count(); ++stage) {
      Elems start = startValues(e, stage), now;
      size_t n = start.size();
      for (size_t w = 0; w < columns.size(); ++w) now.insert(now.end(), start.begin(), start.end());
      now = e.scope([&] { return columnStage(e, stage, groups, columns, sums, now); });
      for (size_t w = 0; w < columns.size(); ++w)
        for (const Elem& x : part(now, n, w)) sums[w].push_back(x);
    }
    for (size_t w = 0; w < columns.size(); ++w) {
      bindColumn(e, stages_.count(), sums[w]);
      groups[plan_.vector()] = columns[w].index;
      e.guarded(columns[w].guard, [&] { storeReducedOutputs(e, plan_.domainAt(groups)); });
    }
  }

  Elems columnStage(Emitter& e, int stage, const std::vector<Index>& groups,
                    std::span<const Position> columns, const std::vector<Elems>& sums,
                    Elems start) {
    size_t n = start.size() / columns.size();
    return reducedLoops(e, groups, start, [&](std::vector<Index>& at, Elems values) {
      return bySubnormals(e, stage, values, [&](const Elems& before) {
        Elems all;
        for (size_t w = 0; w < columns.size(); ++w) {
          bindColumn(e, stage, sums[w]);
          column_ = columnIndex(w);
          for (int s = 0; s < stage; ++s) bindSaved(e, s);
          at[plan_.vector()] = columns[w].index;
          Elems next = e.scope([&] {
            return visit(e, stage, plan_.domainAt(at), columns[w].guard, part(before, n, w));
          });
          all.insert(all.end(), next.begin(), next.end());
        }
        return all;
      });
    });
  }

  // The reductions of the stages before `stage`, of one column vector.
  void bindColumn(Emitter& e, int stage, std::span<const Elem> sums) {
    for (int s = 0; s < stage; ++s) {
      bindReduced(e, s, sums);
      for (size_t r : stages_.reductionsOf(s)) sums = sums.subspan(width(stages_.op(r)));
    }
  }

  const ir::Module& m_;
  Lowering& low_;
  const Cluster& cluster_;
  Builder& b_;
  IndexSpace space_;
  RowStages stages_;
  LanePlan plan_;
  std::vector<Saved> saved_;
  Index column_;        // being emitted, of those that a task has side by side; or its row's start
  int64_t row_size_ = 1;
  int64_t pitch_ = 1;   // columns that are saved beside each other
  int64_t width_ = 1;   // vectors of columns
  bool repeatable_ = false;
  bool streaming_ = false;
};

}  // namespace

Status lowerRows(Lowering& low) {
  RowsNest(low).run();
  return Status();
}

}  // namespace tercel::kernel
