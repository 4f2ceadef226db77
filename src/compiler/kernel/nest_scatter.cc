// scatter in place: the outputs' memory holds the operands when the kernel starts. Updates are
// applied in row-major order, each computed where it is; a task does a part of every window, and
// tasks that run together do theirs at once.
#include <algorithm>
#include <bit>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::Op;

bool contains(const ir::Ints& list, size_t d) {
  return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
}

class ScatterNest {
 public:
  ScatterNest(Lowering& low)
      : m_(low.module), low_(low), op_(*m_.def(low.cluster.outputs[0])), b_(low_.builder), space_(b_),
        count_((op_.operands.size() - 1) / 2) {}

  void run() {
    const Dims& updates = m_.shape(op_.operand(count_ + 1)).dims;
    const auto& window = op_.ints(AttrKey::update_window_dims);
    for (size_t d = 0; d < updates.size(); ++d)
      (contains(window, d) ? window_ : scatter_).push_back(updates[d]);
    chooseLanes();
    low_.forTaskRange(tasks_, [&](V first, V last) { emitTasks(first, last); });
  }

 private:
  void chooseLanes() {
    lanes_ = scattersLines(m_, op_) ? vectorLanes(m_, low_.cluster, low_.machine) : 1;
    inner_ = window_.empty() ? 1 : window_.back();
    while (lanes_ > 1 && lanes_ / 2 >= inner_) lanes_ /= 2;
    if (lanes_ > inner_ && hasFewPieces(inner_ - lanes_ / 2)) lanes_ /= 2;
    const bool in_pieces = lanes_ <= inner_ && hasFewPieces(inner_ % lanes_);
    whole_ = in_pieces ? inner_ / lanes_ * lanes_ : inner_;
    block_ = lanes_ == 1 ? inner_ : std::min<int64_t>(inner_, blockOfLine());
    if (inner_ > 0) tasks_ = (inner_ + block_ - 1) / block_;
  }

  // What is left of a line beside whole vectors is a smaller vector or two: a masked store holds up
  // the loads of the same line, which the next window often is.
  static bool hasFewPieces(int64_t rest) {
    return rest >= 0 && std::popcount(static_cast<uint64_t>(rest)) <= 2;
  }

  // What a task has of a line: few of them, as each goes over all windows, and no line of the cache
  // is another's too.
  int64_t blockOfLine() const {
    constexpr int64_t kTasks = 4, kMostVectors = 8;
    const auto bytes = static_cast<int64_t>(byteSize(m_.shape(op_.operand(0)).dtype));
    if (inner_ * bytes % kLineBytes) return kMostVectors * lanes_;
    const int64_t line = std::max<int64_t>(kLineBytes / bytes, lanes_);
    return std::clamp((inner_ / kTasks + line - 1) / line * line, line, kMostVectors * lanes_);
  }

  void emitTasks(V first, V last) {
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    begin_ = tasks_ == 1 ? b_.index(0) : b_.imul(first, b_.index(block_));
    end_ = b_.index(inner_);
    if (tasks_ > 1) end_ = b_.binary(Opcode::smin, b_.imul(last, b_.index(block_)), end_);
    whole_end_ = whole_ == inner_ ? end_ : b_.binary(Opcode::smin, end_, b_.index(whole_));
    loops(e, scatter_, {}, [&](const Indices& at) { emitWindow(e, at); });
  }

  using Body = std::function<void(const Indices&)>;
  void loops(Emitter& e, std::span<const int64_t> extents, Indices outer, const Body& body) {
    if (extents.empty()) return body(outer);
    auto turn = [&](V i) {
      e.scope([&] {
        Indices inner = outer;
        inner.push_back(space_.loop(i, extents[0]));
        loops(e, extents.subspan(1), std::move(inner), body);
      });
    };
    const int64_t at_once = extents.size() == 1 ? turnsAtOnce() : 1;
    const int64_t whole = extents[0] / at_once * at_once;
    b_.forLoop(b_.index(0), b_.index(whole), at_once, [&](V i) {
      for (int64_t k = 0; k < at_once; ++k) turn(b_.iadd(i, b_.index(k)));
    });
    if (whole < extents[0]) b_.forLoop(b_.index(whole), b_.index(extents[0]), 1, turn);
  }

  // Written out, single elements take little longer than their loads and stores.
  int64_t turnsAtOnce() const {
    constexpr size_t kFewOps = 4;
    const bool is_plain = window_.empty() && m_.region(op_.regions[0]).ops.size() <= kFewOps;
    return is_plain ? 4 : 1;
  }

  // Where the window starts, per operand dimension; invalid V: at 0.
  std::vector<V> windowStart(Emitter& e, const Indices& at) {
    const Shape& indices = m_.shape(op_.operand(count_));
    const auto& map = op_.ints(AttrKey::scatter_dims_to_operand_dims);
    size_t vector_dim = static_cast<size_t>(op_.integer(AttrKey::index_vector_dim));
    std::vector<V> start(m_.shape(op_.operand(0)).dims.size());
    for (size_t k = 0; k < map.size(); ++k) {
      Indices where = at;
      if (vector_dim < indices.dims.size())
        where.insert(where.begin() + static_cast<int64_t>(vector_dim),
                     Index(static_cast<int64_t>(k)));
      V value = elemToIndex(b_, e.at(op_.operand(count_), where), indices.dtype);
      start[static_cast<size_t>(map[k])] = value;
    }
    const auto& batching = op_.ints(AttrKey::input_batching_dims);
    const auto& in_indices = op_.ints(AttrKey::scatter_indices_batching_dims);
    for (size_t k = 0; k < batching.size(); ++k) {
      size_t d = static_cast<size_t>(in_indices[k]);
      start[static_cast<size_t>(batching[k])] =
          space_.emitScalar(at[d - (d > vector_dim ? 1 : 0)]);
    }
    return start;
  }

  // A window that is not all inside is left out.
  void emitWindow(Emitter& e, const Indices& at) {
    const Dims& dims = m_.shape(op_.operand(0)).dims;
    std::vector<V> start = windowStart(e, at);
    std::vector<Limit> limits;
    std::vector<int> window_of(dims.size(), -1);
    int next = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      bool no_window = contains(op_.ints(AttrKey::inserted_window_dims), d) ||
                       contains(op_.ints(AttrKey::input_batching_dims), d);
      int64_t size = no_window ? 1 : window_[static_cast<size_t>(next)];
      if (!no_window) window_of[d] = next++;
      if (!start[d].valid()) continue;
      limits.push_back({start[d], b_.index(dims[d] - size + 1)});
    }
    whereBelow(limits, [&] {
      e.scope([&] { emitWindowLoops(e, at, start, window_of); });
    });
  }

  struct Limit {
    V start, limit;
  };
  // A branch for each is less work than one on all.
  void whereBelow(std::span<const Limit> limits, const std::function<void()>& body) {
    if (limits.empty()) return body();
    const V ok = b_.compare(Opcode::icmp, Predicate::ult, limits[0].start, limits[0].limit);
    b_.ifThen(ok, [&] { whereBelow(limits.subspan(1), body); });
  }

  void emitWindowLoops(Emitter& e, const Indices& at, const std::vector<V>& start,
                       const std::vector<int>& window_of) {
    if (window_.empty()) return apply(e, at, {}, start, window_of, {});
    std::span<const int64_t> outer = std::span<const int64_t>(window_).first(window_.size() - 1);
    loops(e, outer, {}, [&](const Indices& window) {
      auto applyAt = [&](Emitter& emitter, const Index& i, const Guard& guard) {
        Indices all = window;
        all.push_back(i);
        apply(emitter, at, all, start, window_of, guard);
      };
      auto overVectors = [&](V i) {
        Guard guard;
        if (whole_ % lanes_) guard = firstLanes(b_, lanes_, b_.isub(b_.index(inner_), i));
        applyAt(e, space_.loop(i, inner_, lanes_ > 1), guard);
      };
      if (whole_ % lanes_ || block_ % lanes_ || lanes_ == 1) {
        b_.forLoop(begin_, whole_end_, lanes_, overVectors);
      } else {  // what divides a vector's lanes is then known of each
        auto count = [&](V i) { return b_.binary(Opcode::udiv, i, b_.index(lanes_)); };
        const Index lane = space_.loop(b_.index(0), lanes_, true);
        b_.forLoop(count(begin_), count(whole_end_), 1, [&](V i) {
          applyAt(e, space_.add(space_.scale(space_.loop(i, whole_ / lanes_), lanes_), lane), {});
        });
      }
      if (whole_ < inner_) ifAtEnd([&] {
        for (int64_t i = whole_; i < inner_;) {
          const auto lanes = std::bit_floor(static_cast<uint64_t>(inner_ - i));
          Emitter narrow(b_, space_, m_, static_cast<int>(lanes));
          low_.bindInputs(narrow);
          applyAt(narrow, space_.loop(b_.index(i), inner_, lanes > 1), {});
          i += static_cast<int64_t>(lanes);
        }
      });
    });
  }

  // Whether one of the tasks has the end of the line.
  void ifAtEnd(const std::function<void()>& emit) {
    if (tasks_ == 1) return emit();
    b_.ifThen(b_.compare(Opcode::icmp, Predicate::eq, end_, b_.index(inner_)), emit);
  }

  void apply(Emitter& e, const Indices& at, const Indices& window, const std::vector<V>& start,
             const std::vector<int>& window_of, Guard guard) {
    const Dims& dims = m_.shape(op_.operand(0)).dims;
    Indices where;
    for (size_t d = 0; d < dims.size(); ++d) {
      Index i = window_of[d] < 0 ? Index(0) : window[static_cast<size_t>(window_of[d])];
      if (start[d].valid()) i = space_.add(i, space_.scalar(start[d], dims[d]));
      where.push_back(i);
    }
    Index linear = space_.linear(where, dims);
    e.guarded(guard, [&] { combine(e, at, window, linear); });
  }

  void combine(Emitter& e, const Indices& at, const Indices& window, const Index& linear) {
    const auto& window_dims = op_.ints(AttrKey::update_window_dims);
    Indices where;
    for (size_t d = 0, w = 0, s = 0; d < window_dims.size() + scatter_.size(); ++d)
      where.push_back(contains(window_dims, d) ? window[w++] : at[s++]);
    std::vector<Elem> args;
    for (size_t k = 0; k < count_; ++k)
      args.push_back(e.loadAt(low_.output_buffers[k], m_.shape(op_.operand(k)).dtype, linear));
    for (size_t k = 0; k < count_; ++k) args.push_back(e.at(op_.operand(count_ + 1 + k), where));
    std::vector<Elem> results = e.runRegion(op_.regions[0], args);
    for (size_t k = 0; k < count_; ++k) {
      Elem x = results[k];
      x.re = roundTo(b_, x.re, m_.shape(op_.result(k)).dtype);
      low_.storeOutput(e, k, linear, x);
    }
  }

  const ir::Module& m_;
  Lowering& low_;
  int64_t tasks_ = 1;
  const Op& op_;
  Builder& b_;
  IndexSpace space_;
  size_t count_;  // operands
  Dims window_, scatter_;
  int lanes_ = 1;
  int64_t inner_ = 1;
  int64_t block_ = 1;
  int64_t whole_ = 1;  // elements of a line that are taken in vectors of lanes_
  V begin_, end_, whole_end_;  // of the tasks being emitted, along a line
};

}  // namespace

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
