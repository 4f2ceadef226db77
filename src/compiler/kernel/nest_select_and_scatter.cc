// select_and_scatter: finds each window's selected place and combines the source element into it.
// Windows are visited in row-major order; vectors lie along a last dimension that no window spans.
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
    size_t rank = dims_.size();
    for (size_t d = 0; d < rank; ++d) {
      bool plain = (window.empty() || window[d] == 1) && attr(AttrKey::window_strides, d, 1) == 1 &&
                   attr(AttrKey::padding, 2 * d, 0) == 0 && source_[d] == dims_[d];
      plain_.push_back(plain);
    }
    lanes_ = rank > 0 && plain_.back() ? vectorLanes(m_, low_.cluster, low_.machine) : 1;
    while (lanes_ > 1 && lanes_ / 2 >= dims_.back()) lanes_ /= 2;
    for (size_t d = 0; d < rank; ++d) {
      if (!plain_[d]) continue;
      bool vector = d + 1 == rank && lanes_ > 1;
      task_dims_.push_back(d);
      task_extents_.push_back(vector ? (dims_[d] + lanes_ - 1) / lanes_ : dims_[d]);
    }
    tasks_ = elementCount(task_extents_);
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  int64_t attr(AttrKey key, size_t d, int64_t otherwise) const {
    const auto& list = op_.ints(key);
    return list.empty() ? otherwise : list[d];
  }

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
      bool vector = d + 1 == dims_.size() && lanes_ > 1;
      if (!vector) {
        plain[d] = at[i].isConstant() ? at[i] : space_.loop(value, dims_[d]);
        continue;
      }
      value = b_.imul(value, b_.index(lanes_));
      plain[d] = space_.loop(value, dims_[d], true);
      if (dims_[d] % lanes_)
        guard = firstLanes(b_, lanes_, b_.isub(b_.index(dims_[d]), value));
    }
    e.guarded(guard, [&] {
      DType dtype = m_.shape(op_.result()).dtype;
      loops(e, dims_, 0, plain, [&](const Indices& where) {
        low_.storeOutput(e, 0, space_.linear(where, dims_), e.at(op_.operand(2), {}));
      });
      loops(e, source_, 0, plain, [&](const Indices& where) { visitWindow(e, where, dtype); });
    });
  }

  // Loops over the dimensions that tasks do not cover.
  using Body = std::function<void(const Indices&)>;
  void loops(Emitter& e, const Dims& extents, size_t d, const Indices& at, const Body& body) {
    while (d < extents.size() && plain_[d]) ++d;
    if (d == extents.size()) return body(at);
    b_.forLoop(b_.index(0), b_.index(extents[d]), 1, [&](V i) {
      e.scope([&] {
        Indices next = at;
        next[d] = space_.loop(i, extents[d]);
        loops(e, extents, d + 1, next, body);
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

  // `body` for each place of the window, in order, with the number of the place.
  using Places = std::function<std::vector<Elem>(const Indices&, V, std::vector<Elem>)>;
  std::vector<Elem> overWindow(Emitter& e, std::vector<Elem> start, const Places& body) {
    Dims extents = windowExtents();
    return e.loops(extents, std::move(start), [&](const Indices& at, std::vector<Elem> now) {
      V place = space_.emitScalar(space_.linear(at, extents));
      return body(at, b_.cast(Opcode::itrunc, place, Scalar::i32), std::move(now));
    });
  }

  void visitWindow(Emitter& e, const Indices& source, DType dtype) {
    Type number{Scalar::i32, static_cast<uint16_t>(lanes_)};
    std::vector<Elem> start{elemWiden(b_, e.zero(dtype), lanes_), {b_.integer(number, -1), {}}};
    std::vector<Elem> chosen = overWindow(
        e, start, [&](const Indices& w, V n, std::vector<Elem> best) {
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
                                     {b_.select(take, n, best[1].re), {}}};
          });
        });
    overWindow(e, {}, [&](const Indices& w, V n, std::vector<Elem>) {
      V inside;
      Indices where = placeOf(e, source, w, &inside);
      V here = b_.compare(Opcode::icmp, Predicate::eq, chosen[1].re, n);
      auto write = [&] {
        e.guarded(e.guardOf(here), [&] {
          Index linear = space_.linear(where, dims_);
          Elem args[] = {e.loadAt(low_.output_buffers[0], dtype, linear), e.at(op_.operand(1), source)};
          Elem sum = e.runRegion(op_.regions[1], args)[0];
          low_.storeOutput(e, 0, linear, {roundTo(b_, sum.re, dtype), sum.im});
        });
      };
      inside.valid() ? e.guarded(e.guardOf(inside), write) : write();
      return std::vector<Elem>{};
    });
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
  int lanes_ = 1;
  std::vector<size_t> task_dims_;
  Dims task_extents_;
};

}  // namespace

Status lowerSelectAndScatter(Lowering& low) {
  SelectAndScatterNest(low).run();
  return Status();
}

}  // namespace tercel::kernel
