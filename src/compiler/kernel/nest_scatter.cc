#include <algorithm>

#include "compiler/kernel/scatter_nest.h"
#include "core/integers.h"

namespace tercel::kernel {

using ir::AttrKey;
using ir::Op;

namespace {

}  // namespace

ScatterNest::ScatterNest(Lowering& low)
    : m_(low.module), low_(low), op_(*m_.def(low.cluster.outputs[0])), b_(low_.builder),
      space_(b_), count_((op_.operands.size() - 1) / 2) {
  const Dims& updates = m_.shape(op_.operand(count_ + 1)).dims;
  const auto& window = op_.ints(AttrKey::update_window_dims);
  for (size_t d = 0; d < updates.size(); ++d)
    (contains(window, d) ? window_ : scatter_).push_back(updates[d]);
  int next = 0;
  for (size_t d = 0; d < m_.shape(op_.operand(0)).dims.size(); ++d) {
    const bool has_none = contains(op_.ints(AttrKey::inserted_window_dims), d) ||
                          contains(op_.ints(AttrKey::input_batching_dims), d);
    window_of_.push_back(has_none ? -1 : next++);
  }
}

void ScatterNest::run() {
  chooseLanes();
  chooseRows();
  low_.forTaskRange(tasks_, [&](V first, V last) { emitTasks(first, last); });
}

void ScatterNest::emitTasks(V first, V last) {
  Emitter e(b_, space_, m_, lanes_);
  low_.bindInputs(e);
  begin_ = cutsLines() ? b_.imul(first, b_.index(block_)) : b_.index(0);
  end_ = b_.index(inner_);
  if (cutsLines()) end_ = b_.binary(Opcode::smin, b_.imul(last, b_.index(block_)), end_);
  if (rows_ >= 0) e.scope([&] { emitRows(e, first, last); });
  whole_end_ = whole_ == inner_ ? end_ : b_.binary(Opcode::smin, end_, b_.index(whole_));
  const Body window = [&](const Indices& at) { emitWindow(e, at); };
  auto all = [&] {
    if (!mayGoInRuns()) return loops(e, scatter_, {}, window);
    const auto outer = std::span<const int64_t>(scatter_).first(scatter_.size() - 1);
    loops(e, outer, {}, [&](const Indices& at) { emitInRuns(e, at, window); });
  };
  if (rows_ < 0) return all();
  b_.ifThen(b_.compare(Opcode::icmp, Predicate::ne, row_count_, b_.index(0)), all);
}

void ScatterNest::loops(Emitter& e, std::span<const int64_t> extents, const Indices& outer,
                        const Body& body) {
  if (extents.empty()) return body(outer);
  auto turn = [&](V i) {
    e.scope([&] {
      Indices inner = outer;
      inner.push_back(space_.loop(i, extents[0]));
      loops(e, extents.subspan(1), inner, body);
    });
  };
  inTurns(b_.index(0), extents[0], extents.size() == 1 ? turnsAtOnce() : 1, turn);
}

void ScatterNest::inTurns(V first, int64_t count, int64_t at_once, const Turn& turn) {
  const int64_t whole = count / at_once * at_once;
  const V middle = b_.iadd(first, b_.index(whole));
  b_.forLoop(first, middle, at_once, [&](V i) {
    for (int64_t k = 0; k < at_once; ++k) turn(b_.iadd(i, b_.index(k)));
  });
  if (whole < count) b_.forLoop(middle, b_.iadd(first, b_.index(count)), 1, turn);
}

// Written out, single elements take little longer than their loads and stores.
int64_t ScatterNest::turnsAtOnce() const {
  constexpr size_t kFewOps = 4;
  const bool is_plain = window_.empty() && m_.region(op_.regions[0]).ops.size() <= kFewOps;
  return is_plain ? 4 : 1;
}

// The number k of an index.
Elem ScatterNest::indexAt(Emitter& e, const Indices& at, size_t k) {
  const auto vector_dim = static_cast<size_t>(op_.integer(AttrKey::index_vector_dim));
  Indices where = at;
  if (vector_dim < m_.shape(op_.operand(count_)).dims.size())
    where.insert(where.begin() + static_cast<int64_t>(vector_dim), Index(static_cast<int64_t>(k)));
  return e.at(op_.operand(count_), where);
}

// The dimension of all windows' numbers that is dimension d of the indices.
size_t ScatterNest::scatterDim(int64_t d) const {
  return static_cast<size_t>(d - (d > op_.integer(AttrKey::index_vector_dim) ? 1 : 0));
}

// Where the window starts, per operand dimension; invalid V: at 0.
std::vector<V> ScatterNest::windowStart(Emitter& e, const Indices& at) {
  const auto& map = op_.ints(AttrKey::scatter_dims_to_operand_dims);
  std::vector<V> start(window_of_.size());
  for (size_t k = 0; k < map.size(); ++k) {
    const V number = elemToIndex(b_, indexAt(e, at, k), m_.shape(op_.operand(count_)).dtype);
    start[static_cast<size_t>(map[k])] = number;
  }
  const auto& batching = op_.ints(AttrKey::input_batching_dims);
  const auto& in_indices = op_.ints(AttrKey::scatter_indices_batching_dims);
  for (size_t k = 0; k < batching.size(); ++k)
    start[static_cast<size_t>(batching[k])] = space_.emitScalar(at[scatterDim(in_indices[k])]);
  return start;
}

std::vector<ScatterNest::Limit> ScatterNest::limitsOf(std::span<const V> start) const {
  const Dims& dims = m_.shape(op_.operand(0)).dims;
  std::vector<Limit> limits;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = window_of_[d] < 0 ? 1 : window_[static_cast<size_t>(window_of_[d])];
    if (static_cast<int64_t>(d) == rows_)
      limits.push_back({b_.isub(start[d], first_row_), row_count_});
    else if (start[d].valid())
      limits.push_back({start[d], b_.index(dims[d] - size + 1)});
  }
  return limits;
}

// A window that is not all inside is left out.
void ScatterNest::emitWindow(Emitter& e, const Indices& at) {
  const std::vector<V> start = windowStart(e, at);
  whereBelow(limitsOf(start), [&] {
    e.scope([&] { emitWindowLoops(e, at, start); });
  });
}

// A branch for each is less work than one on all.
void ScatterNest::whereBelow(std::span<const Limit> limits, const std::function<void()>& body) {
  if (limits.empty()) return body();
  const V ok = b_.compare(Opcode::icmp, Predicate::ult, limits[0].start, limits[0].limit);
  b_.ifThen(ok, [&] { whereBelow(limits.subspan(1), body); });
}

void ScatterNest::emitWindowLoops(Emitter& e, const Indices& at, const std::vector<V>& start) {
  auto apply = [&](Emitter& emitter, const Indices& window, const Guard& guard) {
    const Index place = placeOf(window, start);
    emitter.guarded(guard, [&] {
      store(emitter, place, combined(emitter, at, window, load(emitter, place)));
    });
  };
  if (window_.empty()) return apply(e, {}, {});
  std::span<const int64_t> outer = std::span<const int64_t>(window_).first(window_.size() - 1);
  loops(e, outer, {}, [&](const Indices& window) {
    alongLine(e, [&](Emitter& emitter, const Index& i, const Guard& guard) {
      Indices all = window;
      all.push_back(i);
      apply(emitter, all, guard);
    });
  });
}

void ScatterNest::alongLine(Emitter& e, const LineBody& body) {
  auto overVectors = [&](V i) {
    Guard guard;
    if (whole_ % lanes_) guard = firstLanes(b_, lanes_, b_.isub(b_.index(inner_), i));
    body(e, space_.loop(i, inner_, lanes_ > 1), guard);
  };
  if (whole_ % lanes_ || (rows_ < 0 && block_ % lanes_) || lanes_ == 1) {
    b_.forLoop(begin_, whole_end_, lanes_, overVectors);
  } else {  // what divides a vector's lanes is then known of each
    auto count = [&](V i) { return b_.binary(Opcode::udiv, i, b_.index(lanes_)); };
    const Index lane = space_.loop(b_.index(0), lanes_, true);
    b_.forLoop(count(begin_), count(whole_end_), 1, [&](V i) {
      body(e, space_.add(space_.scale(space_.loop(i, whole_ / lanes_), lanes_), lane), {});
    });
  }
  if (whole_ < inner_) ifAtEnd([&] { atEndOfLine(body); });
}

void ScatterNest::atEndOfLine(const LineBody& body) {
  for (int64_t i = whole_; i < inner_;) {
    const auto lanes = std::bit_floor(static_cast<uint64_t>(inner_ - i));
    Emitter narrow(b_, space_, m_, static_cast<int>(lanes));
    low_.bindInputs(narrow);
    body(narrow, space_.loop(b_.index(i), inner_, lanes > 1), {});
    i += static_cast<int64_t>(lanes);
  }
}

// Whether one of the tasks has the end of the line.
void ScatterNest::ifAtEnd(const std::function<void()>& emit) {
  if (!cutsLines()) return emit();
  b_.ifThen(b_.compare(Opcode::icmp, Predicate::eq, end_, b_.index(inner_)), emit);
}

Index ScatterNest::placeOf(const Indices& window, std::span<const V> start) {
  const Dims& dims = m_.shape(op_.operand(0)).dims;
  Indices where;
  for (size_t d = 0; d < dims.size(); ++d) {
    Index i = window_of_[d] < 0 ? Index(0) : window[static_cast<size_t>(window_of_[d])];
    if (start[d].valid()) i = space_.add(i, space_.scalar(start[d], dims[d]));
    where.push_back(i);
  }
  return space_.linear(where, dims);
}

std::vector<Elem> ScatterNest::load(Emitter& e, const Index& place) {
  std::vector<Elem> elems;
  for (size_t k = 0; k < count_; ++k)
    elems.push_back(e.loadAt(low_.output_buffers[k], m_.shape(op_.operand(k)).dtype, place));
  return elems;
}

Elem ScatterNest::updateAt(Emitter& e, size_t k, const Indices& at, const Indices& window) {
  const auto& window_dims = op_.ints(AttrKey::update_window_dims);
  Indices where;
  for (size_t d = 0, w = 0, s = 0; d < window_dims.size() + scatter_.size(); ++d)
    where.push_back(contains(window_dims, d) ? window[w++] : at[s++]);
  return e.at(op_.operand(count_ + 1 + k), where);
}

// What is there with an update.
std::vector<Elem> ScatterNest::combined(Emitter& e, const Indices& at, const Indices& window,
                                        std::span<const Elem> before) {
  std::vector<Elem> args(before.begin(), before.end());
  for (size_t k = 0; k < count_; ++k) args.push_back(updateAt(e, k, at, window));
  return rounded(e.runRegion(op_.regions[0], args));
}

std::vector<Elem> ScatterNest::rounded(std::vector<Elem> elems) {
  for (size_t k = 0; k < count_; ++k)
    elems[k].re = roundTo(b_, elems[k].re, m_.shape(op_.result(k)).dtype);
  return elems;
}

void ScatterNest::store(Emitter& e, const Index& place, std::span<const Elem> elems) {
  for (size_t k = 0; k < count_; ++k) low_.storeOutput(e, k, place, elems[k]);
}

bool scattersLines(const ir::Module& m, const Op& scatter) {
  const size_t rank = m.shape(scatter.operand(0)).dims.size();
  return rank > 0 && !scatter.ints(AttrKey::update_window_dims).empty() &&
         !contains(scatter.ints(AttrKey::inserted_window_dims), rank - 1) &&
         !contains(scatter.ints(AttrKey::input_batching_dims), rank - 1);
}

Status lowerScatter(Lowering& low) {
  ScatterNest(low).run();
  return Status();
}

}  // namespace tercel::kernel
