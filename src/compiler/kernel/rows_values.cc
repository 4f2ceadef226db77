#include <algorithm>

#include "compiler/kernel/rows_nest.h"

namespace tercel::kernel {

using ir::Op;
using ir::Value;

RowsNest::Elems RowsNest::operands(Emitter& e, size_t r, const Indices& domain) {
  Elems elems;
  Indices at = stages_.operandIndices(r, domain);
  for (size_t k = 0; k < width(stages_.op(r)); ++k)
    elems.push_back(e.at(stages_.op(r).operand(k), at));
  return elems;
}

void RowsNest::storeOutput(Emitter& e, size_t o, Indices at) {
  Value v = cluster_.outputs[o];
  const Dims& dims = m_.shape(v).dims;
  if (stages_.isFullOutput(o) && dims != cluster_.domain)
    at = e.space().delinear(e.space().linear(at, cluster_.domain), dims);
  Elem elem = e.at(v, at);
  if (turned_ && stages_.isFullOutput(o))
    return e.storeAt(turned_outputs_[o], computedType(m_.shape(v).dtype), savedIndex(at, column_),
                     elem);
  e.streaming = streaming_;
  low_.storeOutput(e, o, e.space().linear(at, dims), elem);
  e.streaming = false;
}

void RowsNest::storeReducedOutputs(Emitter& e, const Indices& domain) {
  for (size_t o = 0; o < cluster_.outputs.size(); ++o)
    if (!stages_.isFullOutput(o))
      e.scope([&] { storeOutput(e, o, stages_.outputIndices(o, domain)); });
}

// One accumulator for each result of each reduction of the stage.
RowsNest::Elems RowsNest::startValues(Emitter& e, int stage) {
  Elems values;
  for (size_t r : stages_.reductionsOf(stage)) {
    const Op& op = stages_.op(r);
    for (size_t k = 0; k < width(op); ++k)
      values.push_back(elemWiden(b_, e.at(op.operand(width(op) + k), {}), plan_.lanes()));
  }
  return values;
}

// Everything a stage does at one place of the domain.
RowsNest::Elems RowsNest::visit(Emitter& e, int stage, const Indices& domain, const Guard& guard,
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
      Elems next = in_order_ ? e.addInOrder(stages_.op(r), args)
                             : e.runRegion(stages_.op(r).regions[0], args);
      for (size_t k = 0; k < n; ++k) {
        // Lanes of columns have nothing to do with each other.
        if (guard.lanes.valid() && plan_.rows())
          next[k] = elemSelect(b_, guard.lanes, next[k], mine[k]);
        now.push_back(elemWiden(b_, next[k], b_.type(mine[k].re).lanes));
      }
    }
    for (size_t o = 0; o < cluster_.outputs.size(); ++o)
      if (stages_.isFullOutput(o) && stages_.outputStage(o) == stage) storeOutput(e, o, domain);
    return now;
  });
}

// Of a saved value: its place in the row, then its column in the task, or its row's start.
Index RowsNest::savedIndex(const Indices& domain, const Index& column) {
  Index sum;
  int64_t stride = 1;
  for (size_t d = domain.size(); d-- > 0;) {
    if (!cluster_.reduced[d]) continue;
    sum = space_.add(sum, space_.scale(domain[d], stride));
    stride *= cluster_.domain[d];
  }
  return space_.add(space_.scale(sum, pitch_), column);
}

// In scratch memory, elements are as they are in registers.
void RowsNest::save(Emitter& e, const Saved& s, const Indices& domain) {
  Value v = stages_.op(s.op).result();
  e.storeAt(s.scratch, computedType(m_.shape(v).dtype), savedIndex(domain, column_),
            e.at(v, stages_.mappedIndices(s.op, domain)));
}

void RowsNest::bindSaved(Emitter& e, int stage) {
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

void RowsNest::bindReduced(Emitter& e, int stage, std::span<const Elem> values) {
  size_t at = 0;
  for (size_t r : stages_.reductionsOf(stage))
    for (Value v : stages_.op(r).results) {
      const Elem& x = values[at++];
      e.bindElem(v, {roundTo(b_, x.re, m_.shape(v).dtype), x.im});
    }
}

// Runs the reducers of a stage on two sets of accumulators.
Merge RowsNest::merge(Emitter& e, int stage) {
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

// Where products met subnormal numbers before, those to come are made in f64, which has no such.
RowsNest::Elems RowsNest::bySubnormals(Emitter& e, int stage, const Elems& before,
                                       const Sums& sums) {
  if (plan_.lanes() == 1 || !b_.machine.slow_subnormals || !stages_.sumsProducts(stage) || asked_)
    return sums(before);
  asked_ = true;
  auto branch = [&](bool in_doubles) {
    e.in_doubles = in_doubles;
    Builder::Values values = flatten(e.scope([&] { return sums(before); }));
    e.in_doubles = false;
    return values;
  };
  auto values = b_.ifElse(b_.metSubnormals(), [&] { return branch(true); },
                          [&] { return branch(false); });
  asked_ = false;
  return unflatten(values, before);
}

// Whether a stage adds numbers up that are rounded.
bool RowsNest::addsFloats(int stage) const {
  return std::ranges::any_of(stages_.reductionsOf(stage), [&](size_t r) {
    const ir::Region& body = m_.region(stages_.op(r).regions[0]);
    return !isInteger(m_.shape(stages_.op(r).results[0]).dtype) &&
           std::ranges::any_of(body.ops, [&](ir::OpId id) {
             return m_.op(id).kind == ir::OpKind::add_;
           });
  });
}

// Loops over the reduced groups but the vectorised one; `inner` does that. A long sum is added up
// from those of shorter runs: rounding errors grow with a run's length.
RowsNest::Elems RowsNest::reducedLoops(Emitter& e, int stage, std::vector<Index> groups,
                                       const Elems& start, const Inner& inner) {
  std::vector<size_t> walked;
  Dims extents;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!plan_.isWalked(g) || g == plan_.vector()) continue;
    walked.push_back(g);
    extents.push_back(plan_.loops().groupExtent(g));
  }
  auto loops = [&](size_t from, size_t to, const Elems& before, const auto& body) {
    return e.loops(std::span(extents).subspan(from, to - from), before,
                   [&](const Indices& at, const Elems& values) {
      for (size_t i = 0; i < at.size(); ++i) groups[walked[from + i]] = at[i];
      return body(values);
    });
  };
  auto innermost = [&](const Elems& values) { return inner(groups, values); };
  if (elementCount(extents) <= kLongestRun || !repeatable_ || !addsFloats(stage))
    return loops(0, extents.size(), start, innermost);
  size_t cut = 0;
  int64_t inside = elementCount(extents) / extents[0];
  while (inside > kLongestRun) inside /= extents[++cut];
  const int64_t extent = extents[cut], run = std::max<int64_t>(1, kLongestRun / inside);
  return loops(0, cut, start, [&](const Elems& before) {
    return elemLoop(e, 0, extent, run, before, [&](V first, const Elems& sums) {
      V last = b_.binary(Opcode::smin, b_.iadd(first, b_.index(run)), b_.index(extent));
      Elems own = elemLoop(e, first, last, 1, start, [&](V i, const Elems& values) {
        groups[walked[cut]] = space_.loop(i, extent);
        return loops(cut + 1, extents.size(), values, innermost);
      });
      return mergeAll(e, stage, sums, own);
    });
  });
}

// Sets of accumulators, each with its own of the other side.
RowsNest::Elems RowsNest::mergeAll(Emitter& e, int stage, const Elems& a, const Elems& b) {
  size_t n = 0;
  for (size_t r : stages_.reductionsOf(stage)) n += width(stages_.op(r));
  Elems all;
  for (size_t set = 0; set * n < a.size(); ++set)
    for (const Elem& x : merge(e, stage)(part(a, n, set), part(b, n, set))) all.push_back(x);
  return all;
}

}  // namespace tercel::kernel
