// select_and_scatter: finds each window's selected place and combines the source element into it.
// Windows are visited in row-major order. Vectors lie along the last dimension: where windows span
// it, each lane finds the place of a window of its own, and they are added one after another.
#include <algorithm>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::Op;

class SelectAndScatterNest {
 public:
  SelectAndScatterNest(Lowering& low)
      : m_(low.module), low_(low), op_(m_.op(low.cluster.ops[0])), b_(low_.builder), space_(b_),
        dims_(m_.shape(op_.operand(0)).dims), source_(m_.shape(op_.operand(1)).dims) {}

  void run() {
    const auto& window = op_.ints(AttrKey::window_dimensions);
    for (size_t d = 0; d < dims_.size(); ++d) {
      bool plain = (window.empty() || window[d] == 1) && attr(AttrKey::window_strides, d, 1) == 1 &&
                   attr(AttrKey::padding, 2 * d, 0) == 0 && source_[d] == dims_[d];
      plain_.push_back(plain);
      if (!plain || dims_[d] > 1) last_ = d;
    }
    in_windows_ = !dims_.empty() && !plain_[last_];
    const int64_t widest = dims_.empty() ? 1 : source_[last_];
    lanes_ = vectorLanes(m_, low_.cluster, low_.machine);
    while (lanes_ > 1 && lanes_ / 2 >= widest) lanes_ /= 2;
    offset_ = m_.shape(op_.result()).elements() > INT32_MAX ? Scalar::i64 : Scalar::i32;
    if (inLanes()) chosen_ = b_.addScratch(offset_, lanes_);
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (!plain_[d]) continue;
      task_dims_.push_back(d);
      task_extents_.push_back(d == last_ ? (dims_[d] + lanes_ - 1) / lanes_ : dims_[d]);
    }
    tasks_ = elementCount(task_extents_);
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  int64_t attr(AttrKey key, size_t d, int64_t otherwise) const {
    const auto& list = op_.ints(key);
    return list.empty() ? otherwise : list[d];
  }

  // Whether each lane has a window of its own that others may overlap.
  bool inLanes() const { return in_windows_ && lanes_ > 1; }

  void emitTask(V task) {
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    Indices plain(dims_.size());
    Guard guard;
    Index t = space_.loop(task, tasks_);
    Indices at = space_.delinear(t, task_extents_);
    for (size_t i = 0; i < task_dims_.size(); ++i) {
      size_t d = task_dims_[i];
      V value = space_.emitScalar(at[i]);
      if (d != last_ || lanes_ == 1) {
        plain[d] = at[i].isConstant() ? at[i] : space_.loop(value, dims_[d]);
        continue;
      }
      value = b_.imul(value, b_.index(lanes_));
      plain[d] = space_.loop(value, dims_[d], true);
      if (dims_[d] % lanes_)
        guard = firstLanes(b_, lanes_, b_.isub(b_.index(dims_[d]), value));
    }
    e.guarded(guard, [&] {
      loops(e, dims_, 0, plain, [&](const Indices& where, const Strip&) {
        low_.storeOutput(e, 0, space_.linear(where, dims_), e.at(op_.operand(2), {}));
      });
      loops(e, source_, 0, plain, [&](const Indices& source, const Strip& strip) {
        visitWindows(e, source, strip);
      });
    });
  }

  // Where a vector along windows starts, and its lanes that no vector had before.
  struct Strip {
    V start, first, end;
  };

  // Loops over the dimensions that tasks do not cover. Of vectors the last one is moved back.
  using Body = std::function<void(const Indices&, const Strip&)>;
  void loops(Emitter& e, const Dims& extents, size_t d, const Indices& at, const Body& body) {
    while (d < extents.size() && plain_[d]) ++d;
    if (d == extents.size()) return body(at, {});
    if (d == last_ && inLanes()) return strips(e, extents[d], at, body);
    b_.forLoop(b_.index(0), b_.index(extents[d]), 1, [&](V i) {
      e.scope([&] {
        Indices next = at;
        next[d] = space_.loop(i, extents[d]);
        loops(e, extents, d + 1, next, body);
      });
    });
  }

  void strips(Emitter& e, int64_t extent, Indices at, const Body& body) {
    const int64_t whole = std::max<int64_t>(0, extent - lanes_);
    Guard guard;
    if (extent < lanes_) guard = firstLanes(b_, lanes_, b_.index(extent));
    b_.forLoop(b_.index(0), b_.index(extent), lanes_, [&](V i) {
      e.guarded(guard, [&] {
        V start = extent % lanes_ ? b_.binary(Opcode::smin, i, b_.index(whole)) : i;
        at[last_] = space_.loop(start, std::max<int64_t>(extent, lanes_), true);
        body(at, {start, b_.isub(i, start), b_.index(std::min<int64_t>(extent, lanes_))});
      });
    });
  }

  Dims windowExtents() const {
    Dims extents;
    for (size_t d = 0; d < dims_.size(); ++d)
      if (!plain_[d]) extents.push_back(attr(AttrKey::window_dimensions, d, 1));
    return extents;
  }

  // The operand's indices at a place of the window, and whether they are inside of it.
  Indices placeOf(Emitter& e, const Indices& source, const Indices& window, V* inside) {
    Indices where = source;
    *inside = V{};
    for (size_t d = 0, w = 0; d < dims_.size(); ++d) {
      if (plain_[d]) continue;
      Index x = space_.add(space_.scale(source[d], attr(AttrKey::window_strides, d, 1)),
                           window[w++]);
      where[d] = space_.subtract(x, Index(attr(AttrKey::padding, 2 * d, 0)));
      V ok = e.inBounds(where[d], dims_[d]);
      if (ok.valid()) *inside = inside->valid() ? b_.binary(Opcode::and_, *inside, ok) : ok;
    }
    return where;
  }

  // How far a place of the window lies behind its first one.
  V offsetOf(const Indices& window) {
    Indices where(dims_.size());
    for (size_t d = 0, w = 0; d < dims_.size(); ++d)
      if (!plain_[d]) where[d] = window[w++];
    V offset = space_.emitScalar(space_.linear(where, dims_));
    return offset_ == Scalar::i64 ? offset : b_.cast(Opcode::itrunc, offset, offset_);
  }

  // `body` for each place of the window, in order, with its offset.
  using Places = std::function<std::vector<Elem>(const Indices&, V, std::vector<Elem>)>;
  std::vector<Elem> overWindow(Emitter& e, std::vector<Elem> start, const Places& body) {
    return e.loops(windowExtents(), std::move(start),
                   [&](const Indices& at, std::vector<Elem> now) {
      return body(at, offsetOf(at), std::move(now));
    });
  }

  void visitWindows(Emitter& e, const Indices& source, const Strip& strip) {
    V chosen = chosenOffset(e, source);
    if (!in_windows_) return addWhereChosen(e, source, chosen);
    if (!inLanes()) return addAt(e, source, chosen);
    b_.store(chosen_, b_.index(0), chosen);
    Emitter one(b_, space_, m_, 1);
    low_.bindInputs(one);
    b_.forLoop(strip.first, strip.end, 1, [&](V lane) {
      one.scope([&] {
        Indices own = source;
        own[last_] = space_.loop(b_.iadd(strip.start, lane), source_[last_]);
        addAt(one, own, b_.load(chosen_, lane, 1));
      });
    });
  }

  // Of the selected place; below 0 where the window has none.
  V chosenOffset(Emitter& e, const Indices& source) {
    Type number{offset_, static_cast<uint16_t>(lanes_)};
    DType dtype = m_.shape(op_.result()).dtype;
    std::vector<Elem> start{elemWiden(b_, e.zero(dtype), lanes_), {b_.integer(number, -1), {}}};
    return overWindow(e, start, [&](const Indices& w, V offset, std::vector<Elem> best) {
      V inside;
      Indices where = placeOf(e, source, w, &inside);
      return e.guarded(e.guardOf(inside), [&] {
        Elem x = e.at(op_.operand(0), where);
        Elem args[] = {best[0], x};
        V keep = e.runRegion(op_.regions[0], args)[0].re;
        V none = b_.compare(Opcode::icmp, Predicate::slt, best[1].re, b_.integer(number, 0));
        V take = b_.binary(Opcode::or_, none,
                           b_.binary(Opcode::xor_, keep, b_.constant(b_.type(keep), 1)));
        if (inside.valid()) take = b_.binary(Opcode::and_, take, inside);
        return std::vector<Elem>{elemSelect(b_, take, x, best[0]),
                                 {b_.select(take, offset, best[1].re), {}}};
      });
    })[1].re;
  }

  // The lanes' windows share no places: each place of all windows is one vector.
  void addWhereChosen(Emitter& e, const Indices& source, V chosen) {
    overWindow(e, {}, [&](const Indices& w, V offset, std::vector<Elem>) {
      V inside;
      Indices where = placeOf(e, source, w, &inside);
      V here = b_.compare(Opcode::icmp, Predicate::eq, chosen, offset);
      e.guarded(e.guardOf(inside), [&] {
        e.guarded(e.guardOf(here), [&] { add(e, source, space_.linear(where, dims_)); });
      });
      return std::vector<Elem>{};
    });
  }

  void addAt(Emitter& e, const Indices& source, V chosen) {
    V inside, is_any = b_.compare(Opcode::icmp, Predicate::sge, chosen,
                                  b_.integer(b_.type(chosen), 0));
    Index first = space_.linear(placeOf(e, source, Indices(dims_.size()), &inside), dims_);
    if (offset_ == Scalar::i32) chosen = b_.cast(Opcode::sext, chosen, Scalar::i64);
    b_.ifThen(is_any, [&] {
      e.scope([&] {
        V at = b_.iadd(space_.emitScalar(first), chosen);
        add(e, source, space_.loop(at, m_.shape(op_.result()).elements()));
      });
    });
  }

  void add(Emitter& e, const Indices& source, const Index& at) {
    DType dtype = m_.shape(op_.result()).dtype;
    Elem args[] = {e.loadAt(low_.output_buffers[0], dtype, at), e.at(op_.operand(1), source)};
    Elem sum = e.runRegion(op_.regions[1], args)[0];
    low_.storeOutput(e, 0, at, {roundTo(b_, sum.re, dtype), sum.im});
  }

  const ir::Module& m_;
  Lowering& low_;
  int64_t tasks_ = 1;
  const Op& op_;
  Builder& b_;
  IndexSpace space_;
  const Dims& dims_;
  const Dims& source_;
  std::vector<bool> plain_;  // dimensions that no window spans
  size_t last_ = ~size_t{0};  // dimension that is more than 1, or that windows span
  bool in_windows_ = false;   // it is one of the latter
  int lanes_ = 1;
  Scalar offset_ = Scalar::i32;
  BufferId chosen_ = 0;
  std::vector<size_t> task_dims_;
  Dims task_extents_;
};

}  // namespace

Status lowerSelectAndScatter(Lowering& low) {
  SelectAndScatterNest(low).run();
  return Status();
}

}  // namespace tercel::kernel
