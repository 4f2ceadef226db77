// Reductions over rows with what feeds them and what uses them, one row (or a few columns) at a time:
// softmax and layer norm read their row from memory once.
//
// Stage s runs over the reduced dimensions and accumulates the reductions that need those of earlier
// stages; the last one makes the outputs. Vectors lie along a reduced dimension (rows: lanes are
// combined at the end of a stage) or along a kept one (columns: lanes are independent).
#include <algorithm>

#include "compiler/kernel/nest.h"
#include "compiler/kernel/reducer.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

// A place on the vectorised loop, and which of its lanes exist.
struct Position {
  Index index;
  Guard guard;
};

// A value kept in scratch memory from the stage that makes it first.
struct Saved {
  size_t op;
  int stage;
  BufferId scratch;
};

class RowsNest {
 public:
  RowsNest(Lowering& low)
      : m_(low.module), low_(low), b_(low_.builder), space_(b_) {}

  void run() {
    findStages();
    plan_ = planLoops(low_, low_.cluster.domain,
                      [&](Emitter& e, const Indices& i) { probeAll(e, i); }, low_.cluster.reduced);
    chooseVector();
    findSaved();
    streaming_ = !plan_.groups.empty() && vector_ + 1 == plan_.groups.size() &&
                 streamsOutputs(low_, lanes_, plan_.groupExtent(vector_));
    chooseTasks();
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  const Op& op(size_t i) const { return m_.op(low_.cluster.ops[i]); }
  size_t opCount() const { return low_.cluster.ops.size(); }

  // depth: how many reductions one after another a value needs.
  void findStages() {
    for (size_t i = 0; i < opCount(); ++i) {
      int depth = 0;
      for (Value v : op(i).operands) depth = std::max(depth, depthOf(v));
      if (op(i).kind == OpKind::reduce_) {
        ++depth;
        stages_ = std::max(stages_, depth);
        reductions_.push_back(i);
      }
      for (Value v : op(i).results) depth_[v.index] = depth;
    }
    for (Value v : low_.cluster.outputs) {
      bool full = m_.shape(v).dims == low_.cluster.domain;
      full_output_.push_back(full);
      if (full) stages_ = std::max(stages_, depthOf(v) + 1);
    }
  }

  int depthOf(Value v) const {
    auto at = depth_.find(v.index);
    return at == depth_.end() ? 0 : at->second;
  }

  int stageOf(size_t reduction) const { return depthOf(op(reduction).result()) - 1; }
  int outputStage(size_t output) const {
    return full_output_[output] ? stages_ - 1 : depthOf(low_.cluster.outputs[output]);
  }

  Indices operandIndices(size_t reduction, const Indices& domain) const {
    const Op& o = op(reduction);
    const auto& reduced = o.ints(AttrKey::dimensions);
    const auto& map = low_.cluster.maps[reduction];
    Indices indices;
    size_t kept = 0, next = 0;
    size_t rank = m_.shape(o.operand(0)).dims.size();
    for (size_t d = 0; d < rank; ++d) {
      if (std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) == reduced.end()) {
        int32_t from = map[kept++];
        indices.push_back(from < 0 ? Index(0) : domain[static_cast<size_t>(from)]);
        continue;
      }
      while (!low_.cluster.reduced[next]) ++next;
      indices.push_back(domain[next++]);
    }
    return indices;
  }

  Indices mappedIndices(size_t i, const Indices& domain) const {
    Indices indices;
    for (int32_t d : low_.cluster.maps[i])
      indices.push_back(d < 0 ? Index(0) : domain[static_cast<size_t>(d)]);
    return indices;
  }

  Indices outputIndices(size_t output, const Indices& domain) const {
    size_t rank = m_.shape(low_.cluster.outputs[output]).dims.size();
    return Indices(domain.begin(), domain.begin() + static_cast<int64_t>(rank));
  }

  // Touches everything once, reductions as opaque numbers.
  void probeAll(Emitter& e, const Indices& domain) {
    for (size_t r : reductions_)
      for (Value v : op(r).results) {
        Type type{computedScalar(m_.shape(v).dtype), 1};
        V x = e.builder().opaque(type);
        e.bindElem(v, {x, isComplex(m_.shape(v).dtype) ? x : V{}});
      }
    for (size_t r : reductions_) {
      size_t n = op(r).operands.size() / 2;
      for (size_t k = 0; k < n; ++k) e.at(op(r).operand(k), operandIndices(r, domain));
    }
    for (size_t o = 0; o < low_.cluster.outputs.size(); ++o) {
      Value v = low_.cluster.outputs[o];
      Indices at = outputIndices(o, domain);
      Elem elem = e.at(v, at);
      low_.storeOutput(e, o, e.space().linear(at, m_.shape(v).dims), elem);
    }
  }

  bool isReduced(size_t group) const {
    return low_.cluster.reduced[plan_.loops[plan_.groups[group][0]].dim];
  }

  // The loop along which most memory is contiguous.
  void chooseVector() {
    std::vector<int64_t> score(plan_.groups.size(), 0);
    for (size_t a = 0; a < plan_.accesses.size(); ++a)
      for (size_t g = 0; g < plan_.strides[a].size(); ++g)
        if (std::abs(plan_.strides[a][g]) == 1)
          score[g] += plan_.accesses[a].element_bytes * spread(a);
    vector_ = plan_.groups.empty() ? 0 : plan_.groups.size() - 1;
    for (size_t g = plan_.groups.size(); g-- > 0;)
      if (score[g] > score[vector_]) vector_ = g;
    lanes_ = plan_.groups.empty() ? 1 : vectorLanes(m_, low_.cluster, low_.machine);
    if (!plan_.groups.empty()) {
      while (lanes_ > 1 && lanes_ / 2 >= plan_.groupExtent(vector_)) lanes_ /= 2;
      rows_ = isReduced(vector_);
    }
    if (rows_ && !allRepeatable()) lanes_ = 1;
  }

  // How many dimensions an access moves along: a whole operand outweighs a row's scale.
  int64_t spread(size_t access) const {
    int64_t count = 0;
    for (int64_t s : plan_.strides[access]) count += s != 0;
    return count * count;
  }

  bool allRepeatable() const {
    for (size_t r : reductions_)
      if (!initIsRepeatable(m_, op(r))) return false;
    return true;
  }

  // Costly values that a later stage needs again are kept in scratch memory, one row of them.
  void findSaved() {
    if (!rows_ || stages_ < 2) return;
    int64_t row = 1;
    for (size_t d = 0; d < low_.cluster.domain.size(); ++d)
      if (low_.cluster.reduced[d]) row *= low_.cluster.domain[d];
    for (size_t i = 0; i < opCount(); ++i) {
      if (op(i).results.size() != 1 || !isCostly(op(i).kind) || !isFull(i)) continue;
      Value v = op(i).result();
      int first = stages_, last = -1;
      for (size_t r : reductions_)
        if (needs(op(r).operand(0), v, 0)) note(stageOf(r), first, last);
      for (size_t o = 0; o < low_.cluster.outputs.size(); ++o)
        if (needs(low_.cluster.outputs[o], v, 0)) note(outputStage(o), first, last);
      if (first >= last) continue;
      DType dtype = m_.shape(v).dtype;
      if (isComplex(dtype) || row > (64 << 10)) continue;
      saved_.push_back({i, first, b_.addScratch(computedScalar(dtype), row)});
    }
  }

  static void note(int stage, int& first, int& last) {
    first = std::min(first, stage);
    last = std::max(last, stage);
  }

  static bool isCostly(OpKind kind) {
    switch (kind) {
      case OpKind::exponential_: case OpKind::log_: case OpKind::tanh_: case OpKind::logistic_:
      case OpKind::erf_: case OpKind::power_: case OpKind::sine_: case OpKind::cosine_:
      case OpKind::exponential_minus_one_: case OpKind::log_plus_one_: case OpKind::divide_:
      case OpKind::sqrt_: case OpKind::rsqrt_: case OpKind::tan_: case OpKind::atan2_:
        return true;
      default: return false;
    }
  }

  bool isFull(size_t i) const {
    const auto& map = low_.cluster.maps[i];
    for (size_t d = 0; d < low_.cluster.domain.size(); ++d)
      if (low_.cluster.reduced[d] && low_.cluster.domain[d] > 1 &&
          std::find(map.begin(), map.end(), static_cast<int32_t>(d)) == map.end())
        return false;
    return map.size() == m_.shape(op(i).result()).dims.size();
  }

  // Whether computing `v` at a place of the row evaluates `what` there.
  bool needs(Value v, Value what, int level) const {
    if (v == what) return true;
    const Op* o = m_.def(v);
    if (!o || level > 32 || o->kind == OpKind::reduce_ || !depth_.contains(v.index)) return false;
    for (Value operand : o->operands)
      if (needs(operand, what, level + 1)) return true;
    return false;
  }

  void chooseTasks() {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (isReduced(g) || (!rows_ && g == vector_)) continue;
      task_groups_.push_back(g);
      task_extents_.push_back(plan_.groupExtent(g));
    }
    if (!rows_ && !plan_.groups.empty()) {
      int64_t extent = plan_.groupExtent(vector_);
      int64_t vectors = (extent + lanes_ - 1) / lanes_;
      width_ = static_cast<int>(std::min<int64_t>(vectors, columnVectors()));
      blocks_ = (vectors + width_ - 1) / width_;
    }
    tasks_ = elementCount(task_extents_) * blocks_;
  }

  int64_t columnVectors() const {
    size_t carried = 0;
    for (size_t r : reductions_) carried += op(r).results.size();
    return std::max<int64_t>(1, 8 / static_cast<int64_t>(std::max<size_t>(1, carried)));
  }

  void emitTask(V task) {
    std::vector<Index> groups(plan_.groups.size());
    Index t = space_.loop(task, tasks_);
    Index block = space_.remainder(t, blocks_);
    Indices outer = space_.delinear(space_.quotient(t, blocks_), task_extents_);
    for (size_t i = 0; i < task_groups_.size(); ++i)
      groups[task_groups_[i]] =
          outer[i].isConstant() ? outer[i] : space_.loop(space_.emitScalar(outer[i]), task_extents_[i]);
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    if (rows_ || plan_.groups.empty())
      emitRow(e, groups);
    else
      emitColumns(e, groups, block);
  }

  // One accumulator for each result of each reduction of the stage.
  std::vector<Elem> startValues(Emitter& e, int stage, int lanes) {
    std::vector<Elem> values;
    for (size_t r : reductions_) {
      if (stageOf(r) != stage) continue;
      size_t n = op(r).operands.size() / 2;
      for (size_t k = 0; k < n; ++k)
        values.push_back(elemWiden(b_, e.at(op(r).operand(n + k), {}), lanes));
    }
    return values;
  }

  // Everything a stage does at one place of the domain.
  std::vector<Elem> visit(Emitter& e, int stage, const Indices& domain, const Guard& guard,
                          std::vector<Elem> now) {
    e.guarded(guard, [&] {
      for (const Saved& s : saved_)
        if (s.stage == stage) save(e, s, domain);
      size_t at = 0;
      for (size_t r : reductions_) {
        if (stageOf(r) != stage) continue;
        size_t n = op(r).operands.size() / 2;
        std::vector<Elem> args(now.begin() + static_cast<int64_t>(at),
                               now.begin() + static_cast<int64_t>(at + n));
        std::vector<Elem> before = args;
        Indices where = operandIndices(r, domain);
        for (size_t k = 0; k < n; ++k) args.push_back(e.at(op(r).operand(k), where));
        std::vector<Elem> next = e.runRegion(op(r).regions[0], args);
        for (size_t k = 0; k < n; ++k) {
          Elem x = guard.lanes.valid() ? elemSelect(b_, guard.lanes, next[k], before[k]) : next[k];
          now[at + k] = elemWiden(b_, x, b_.type(before[k].re).lanes);
        }
        at += n;
      }
      for (size_t o = 0; o < low_.cluster.outputs.size(); ++o) {
        if (!full_output_[o] || outputStage(o) != stage) continue;
        Value v = low_.cluster.outputs[o];
        Elem elem = e.at(v, domain);
        e.streaming = streaming_;
        low_.storeOutput(e, o, space_.linear(domain, m_.shape(v).dims), elem);
        e.streaming = false;
      }
    });
    return now;
  }

  Index rowIndex(const Indices& domain) {
    Index sum;
    int64_t stride = 1;
    for (size_t d = domain.size(); d-- > 0;) {
      if (!low_.cluster.reduced[d]) continue;
      sum = space_.add(sum, space_.scale(domain[d], stride));
      stride *= low_.cluster.domain[d];
    }
    return sum;
  }

  // Scratch holds elements as they are in registers.
  void save(Emitter& e, const Saved& s, const Indices& domain) {
    DType dtype = m_.shape(op(s.op).result()).dtype;
    DType held = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
    e.storeAt(s.scratch, held, rowIndex(domain), e.at(op(s.op).result(), mappedIndices(s.op, domain)));
  }

  void bindSaved(Emitter& e, int stage) {
    for (const Saved& s : saved_) {
      if (s.stage != stage) continue;
      std::vector<int32_t> map = low_.cluster.maps[s.op];
      e.bindPlaced(op(s.op).result(), s.scratch, [this, map](std::span<const Index> at) {
        Indices domain(low_.cluster.domain.size());
        for (size_t i = 0; i < map.size(); ++i)
          if (map[i] >= 0) domain[static_cast<size_t>(map[i])] = at[i];
        return rowIndex(domain);
      });
    }
  }

  void bindReduced(Emitter& e, int stage, std::span<const Elem> values) {
    size_t at = 0;
    for (size_t r : reductions_) {
      if (stageOf(r) != stage) continue;
      for (Value v : op(r).results) {
        Elem x = values[at++];
        e.bindElem(v, {roundTo(b_, x.re, m_.shape(v).dtype), x.im});
      }
    }
  }

  // Loops over the reduced groups but the vectorised one; `inner` does that.
  using Inner = std::function<std::vector<Elem>(std::vector<Index>&, std::vector<Elem>)>;
  std::vector<Elem> reducedLoops(Emitter& e, size_t group, std::vector<Index> groups,
                                 std::vector<Elem> now, const Inner& inner) {
    while (group < plan_.groups.size() && (!isReduced(group) || (rows_ && group == vector_))) ++group;
    if (group == plan_.groups.size()) return inner(groups, std::move(now));
    int64_t extent = plan_.groupExtent(group);
    return e.loop(extent, std::move(now), [&](Index i, std::vector<Elem> values) {
      std::vector<Index> next = groups;
      next[group] = i;
      return reducedLoops(e, group + 1, std::move(next), std::move(values), inner);
    });
  }

  Indices domainAt(std::span<const Index> groups) {
    return domainIndices(space_, plan_, low_.cluster.domain.size(), groups);
  }

  void emitRow(Emitter& e, const std::vector<Index>& groups) {
    for (int stage = 0; stage < stages_; ++stage) {
      std::vector<Elem> sums = e.scope([&] { return rowStage(e, stage, groups); });
      bindReduced(e, stage, sums);
      bindSaved(e, stage);
    }
    storeRowOutputs(e, domainAt(groups));
  }

  void storeRowOutputs(Emitter& e, const Indices& domain) {
    for (size_t o = 0; o < low_.cluster.outputs.size(); ++o) {
      if (full_output_[o]) continue;
      Value v = low_.cluster.outputs[o];
      Indices at = outputIndices(o, domain);
      e.scope([&] {
        low_.storeOutput(e, o, space_.linear(at, m_.shape(v).dims), e.at(v, at));
      });
    }
  }

  std::vector<Elem> rowStage(Emitter& e, int stage, const std::vector<Index>& groups) {
    std::vector<Elem> start = startValues(e, stage, lanes_);
    size_t n = start.size();
    int64_t extent = plan_.groups.empty() ? 1 : plan_.groupExtent(vector_);
    // Several accumulators start from the init several times.
    int64_t unroll = n > 0 && n <= 2 && extent >= 8 * lanes_ && allRepeatable() ? 4 : 1;
    std::vector<Elem> now;
    for (int64_t u = 0; u < unroll; ++u) now.insert(now.end(), start.begin(), start.end());
    now = reducedLoops(e, 0, groups, now, [&](std::vector<Index>& at, std::vector<Elem> values) {
      return vectorLoop(e, stage, at, std::move(values), n, unroll, extent);
    });
    for (int64_t u = 1; u < unroll; ++u) now = combine(e, stage, now, n, static_cast<size_t>(u));
    now.resize(n);
    for (int half = lanes_ / 2; half >= 1; half /= 2) now = foldLanes(e, stage, now, half);
    for (Elem& x : now) {
      x.re = b_.type(x.re).isVector() ? b_.extract(x.re, 0) : x.re;
      if (x.im.valid() && b_.type(x.im).isVector()) x.im = b_.extract(x.im, 0);
    }
    return now;
  }

  std::vector<Elem> vectorLoop(Emitter& e, int stage, std::vector<Index> groups,
                               std::vector<Elem> now, size_t n, int64_t unroll, int64_t extent) {
    if (plan_.groups.empty()) return visit(e, stage, domainAt(groups), {}, std::move(now));
    int64_t whole = extent / (lanes_ * unroll) * (lanes_ * unroll);
    now = stride(e, 0, whole, lanes_ * unroll, now, [&](V i, std::vector<Elem> values) {
      std::vector<Elem> all;
      for (int64_t u = 0; u < unroll; ++u) {
        Index at = space_.add(space_.loop(i, std::max<int64_t>(2, extent), lanes_ > 1),
                              Index(u * lanes_));
        std::vector<Elem> part(values.begin() + static_cast<int64_t>(n) * u,
                               values.begin() + static_cast<int64_t>(n) * (u + 1));
        part = e.scope([&] { return visitAt(e, stage, groups, {at, {}}, part); });
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    });
    auto firstPart = [&](std::vector<Elem> values, const std::vector<Elem>& part) {
      std::copy(part.begin(), part.end(), values.begin());
      return values;
    };
    int64_t vectors = extent / lanes_ * lanes_;
    now = stride(e, whole, vectors, lanes_, now, [&](V i, std::vector<Elem> values) {
      Index at = space_.loop(i, std::max<int64_t>(2, extent), lanes_ > 1);
      std::vector<Elem> part(values.begin(), values.begin() + static_cast<int64_t>(n));
      return firstPart(values, visitAt(e, stage, groups, {at, {}}, part));
    });
    if (vectors == extent) return now;
    Position tail{space_.loop(b_.index(vectors), extent, true), tailGuard(extent - vectors)};
    std::vector<Elem> part(now.begin(), now.begin() + static_cast<int64_t>(n));
    part = e.scope([&] { return visitAt(e, stage, groups, tail, part); });
    return firstPart(now, part);
  }

  Guard tailGuard(int64_t count) {
    Type ids{Scalar::i32, static_cast<uint16_t>(lanes_)};
    return {b_.compare(Opcode::icmp, Predicate::slt, b_.laneIds(ids), b_.integer(ids, count)), {}};
  }

  std::vector<Elem> visitAt(Emitter& e, int stage, std::vector<Index> groups, const Position& at,
                            std::vector<Elem> now) {
    groups[vector_] = at.index;
    return visit(e, stage, domainAt(groups), at.guard, std::move(now));
  }

  using Step = std::function<std::vector<Elem>(V, std::vector<Elem>)>;
  std::vector<Elem> stride(Emitter& e, int64_t lo, int64_t hi, int64_t step, std::vector<Elem> now,
                           const Step& body) {
    if (lo >= hi) return now;
    SmallVector<V, 8> flat;
    for (const Elem& x : now) {
      flat.push_back(x.re);
      if (x.im.valid()) flat.push_back(x.im);
    }
    auto elems = [&](std::span<const V> values) {
      std::vector<Elem> result;
      size_t at = 0;
      for (const Elem& x : now) {
        Elem elem{values[at++], {}};
        if (x.im.valid()) elem.im = values[at++];
        result.push_back(elem);
      }
      return result;
    };
    auto last = b_.forLoop(b_.index(lo), b_.index(hi), step, flat, [&](V i, std::span<const V> v) {
      Builder::Values yields;
      for (const Elem& x : e.scope([&] { return body(i, elems(v)); })) {
        yields.push_back(x.re);
        if (x.im.valid()) yields.push_back(x.im);
      }
      return yields;
    });
    return elems(last);
  }

  // Runs the reducers of a stage on two sets of accumulators.
  std::vector<Elem> merge(Emitter& e, int stage, std::span<const Elem> a, std::span<const Elem> b) {
    std::vector<Elem> result;
    size_t at = 0;
    for (size_t r : reductions_) {
      if (stageOf(r) != stage) continue;
      size_t n = op(r).operands.size() / 2;
      std::vector<Elem> args(a.begin() + static_cast<int64_t>(at),
                             a.begin() + static_cast<int64_t>(at + n));
      args.insert(args.end(), b.begin() + static_cast<int64_t>(at),
                  b.begin() + static_cast<int64_t>(at + n));
      for (const Elem& x : e.runRegion(op(r).regions[0], args)) result.push_back(x);
      at += n;
    }
    return result;
  }

  std::vector<Elem> combine(Emitter& e, int stage, std::vector<Elem> all, size_t n, size_t u) {
    std::span<const Elem> view(all);
    std::vector<Elem> merged = merge(e, stage, view.subspan(0, n), view.subspan(n * u, n));
    std::copy(merged.begin(), merged.end(), all.begin());
    return all;
  }

  std::vector<Elem> foldLanes(Emitter& e, int stage, std::vector<Elem> now, int half) {
    std::vector<int16_t> upper, lower;
    for (int i = 0; i < half; ++i) {
      lower.push_back(static_cast<int16_t>(i));
      upper.push_back(static_cast<int16_t>(i + half));
    }
    auto part = [&](const Elem& x, const std::vector<int16_t>& list) {
      if (half == 1) {
        int lane = list[0];
        return Elem{b_.extract(x.re, lane), x.im.valid() ? b_.extract(x.im, lane) : V{}};
      }
      return Elem{b_.shuffle(x.re, x.re, list),
                  x.im.valid() ? b_.shuffle(x.im, x.im, list) : V{}};
    };
    std::vector<Elem> a, b;
    for (const Elem& x : now) {
      a.push_back(part(x, lower));
      b.push_back(part(x, upper));
    }
    return merge(e, stage, a, b);
  }

  // Columns: `width_` vectors side by side, each with accumulators of its own.
  void emitColumns(Emitter& e, const std::vector<Index>& groups, const Index& block) {
    int64_t extent = plan_.groupExtent(vector_);
    int64_t vectors = (extent + lanes_ - 1) / lanes_;
    if (blocks_ == 1) return columnBlock(e, groups, b_.index(0), width_, extent);
    V at = space_.emitScalar(space_.scale(block, width_ * lanes_));
    bool even = vectors % width_ == 0 && extent % lanes_ == 0;
    if (even) return columnBlock(e, groups, at, width_, -1);
    V last = b_.compare(Opcode::icmp, Predicate::eq, space_.emitScalar(block),
                        b_.index(blocks_ - 1));
    int64_t left = extent - (blocks_ - 1) * width_ * lanes_;
    int last_width = static_cast<int>((left + lanes_ - 1) / lanes_);
    b_.ifElse(last,
              [&] {
                columnBlock(e, groups, b_.index((blocks_ - 1) * width_ * lanes_), last_width, left);
                return Builder::Values{};
              },
              [&] {
                columnBlock(e, groups, at, width_, -1);
                return Builder::Values{};
              });
  }

  // count: columns of the block that exist, -1 where all do.
  void columnBlock(Emitter& outer, const std::vector<Index>& groups, V at, int width,
                   int64_t count) {
    Emitter e(b_, space_, m_, lanes_);
    (void)outer;
    low_.bindInputs(e);
    int64_t extent = plan_.groupExtent(vector_);
    std::vector<Position> positions;
    for (int w = 0; w < width; ++w) {
      Index base = space_.loop(at, std::max<int64_t>(2, extent), lanes_ > 1);
      Position p{space_.add(base, Index(w * lanes_)), {}};
      if (count >= 0 && (w + 1) * lanes_ > count) p.guard = tailGuard(count - w * lanes_);
      positions.push_back(p);
    }
    std::vector<std::vector<Elem>> sums(positions.size());
    for (int stage = 0; stage < stages_; ++stage) {
      std::vector<Elem> now;
      std::vector<Elem> start = startValues(e, stage, lanes_);
      size_t n = start.size();
      for (int w = 0; w < width; ++w) now.insert(now.end(), start.begin(), start.end());
      now = e.scope([&] {
        return reducedLoops(e, 0, groups, now, [&](std::vector<Index>& i, std::vector<Elem> v) {
          std::vector<Elem> all;
          for (size_t w = 0; w < positions.size(); ++w) {
            bindColumn(e, stage, sums[w]);
            std::vector<Elem> part(v.begin() + static_cast<int64_t>(n * w),
                                   v.begin() + static_cast<int64_t>(n * (w + 1)));
            part = e.scope([&] { return visitAt(e, stage, i, positions[w], part); });
            all.insert(all.end(), part.begin(), part.end());
          }
          return all;
        });
      });
      for (size_t w = 0; w < positions.size(); ++w)
        sums[w].insert(sums[w].end(), now.begin() + static_cast<int64_t>(n * w),
                       now.begin() + static_cast<int64_t>(n * (w + 1)));
    }
    for (size_t w = 0; w < positions.size(); ++w) {
      bindColumn(e, stages_, sums[w]);
      std::vector<Index> i = groups;
      i[vector_] = positions[w].index;
      e.guarded(positions[w].guard, [&] { storeRowOutputs(e, domainAt(i)); });
    }
  }

  // The reductions of the stages before `stage`, of one column vector.
  void bindColumn(Emitter& e, int stage, std::span<const Elem> sums) {
    size_t at = 0;
    for (int s = 0; s < stage; ++s)
      for (size_t r : reductions_) {
        if (stageOf(r) != s) continue;
        for (Value v : op(r).results) {
          Elem x = sums[at++];
          e.bindElem(v, {roundTo(b_, x.re, m_.shape(v).dtype), x.im});
        }
      }
  }

  const ir::Module& m_;
  Lowering& low_;
  int64_t tasks_ = 1;
  Builder& b_;
  IndexSpace space_;
  LoopPlan plan_;
  std::unordered_map<uint32_t, int> depth_;
  std::vector<size_t> reductions_;  // positions among the ops
  std::vector<bool> full_output_;
  std::vector<Saved> saved_;
  int stages_ = 0;
  size_t vector_ = 0;
  bool rows_ = true;
  bool streaming_ = false;
  int lanes_ = 1;
  int width_ = 1;  // vectors of a block of columns
  int64_t blocks_ = 1;
  std::vector<size_t> task_groups_;
  Dims task_extents_;
};

}  // namespace

Status lowerRows(Lowering& low) {
  RowsNest(low).run();
  return Status();
}

}  // namespace tercel::kernel
