#include <algorithm>
#include <unordered_map>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/expand_reduce.h"
#include "compiler/passes/own_work.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kLongestRow = 40, kFewestPairs = 8, kFewestElements = 4096;
constexpr int64_t kSpread = 8;  // times as many elements as what is spread has

class PairsTurn {
 public:
  PairsTurn(Rewriter& rw, const Op& reduce)
      : rw_(rw), reduce_(reduce), dims_(rw.shape(reduce.operand(0)).dims),
        row_(dims_.size() - 1) {
    for (size_t k = 0; k < reduce.results.size(); ++k) inputs_.push_back(reduce.operand(k));
  }

  bool run() {
    if (!isAlongShortRows()) return false;
    work_ = ownWork(rw_, inputs_);
    if (!isSpread()) return false;
    std::swap(dims_[row_ - 1], dims_[row_]);
    for (OpId id : work_) rw_.abandon(rw_.op(id));
    for (size_t i = work_.size(); i-- > 0;) compute(work_[i]);
    reduce();
    return true;
  }

 private:
  bool isAlongShortRows() const {
    const Ints& reduced = reduce_.ints(AttrKey::dimensions);
    return reduced.size() == 1 && row_ > 0 && reduced[0] == static_cast<int64_t>(row_) &&
           dims_[row_] > 1 && dims_[row_] <= kLongestRow && dims_[row_ - 1] >= kFewestPairs &&
           elementCount(dims_) >= kFewestElements;
  }

  bool isWork(Value v) const {
    return std::ranges::find(work_, rw_.module().value(v).def) != work_.end();
  }

  // Whether all that is read is small, and some of it varies along the pairs.
  bool isSpread() const {
    bool varies = false;
    auto note = [&](Value v) {
      if (isWork(v) || splatOf(rw_, v) || rw_.shape(v).rank() == 0) return true;
      const Op* op = rw_.def(v, OpKind::broadcast_in_dim_);
      if (!op || rw_.shape(op->operand(0)).elements() * kSpread > elementCount(dims_)) return false;
      varies = varies || contains(op->ints(AttrKey::broadcast_dimensions),
                                  static_cast<int64_t>(row_) - 1);
      return true;
    };
    for (Value v : inputs_)
      if (!note(v)) return false;
    for (OpId id : work_)
      for (Value v : rw_.op(id).operands)
        if (!note(v)) return false;
    return varies && !work_.empty();
  }

  Value turned(Value v) {
    if (rw_.shape(v).rank() == 0) return v;
    auto [known, is_new] = turned_.try_emplace(v.index);
    if (is_new) known->second = turnedSpread(v);
    return turned_.at(v.index);
  }

  Value turnedSpread(Value v) {
    const Op* broadcast = rw_.def(v, OpKind::broadcast_in_dim_);
    if (!broadcast) return rw_.constant(withShape(*splatOf(rw_, v), dims_));
    Value from = broadcast->operand(0);
    Ints where = broadcast->ints(AttrKey::broadcast_dimensions);
    const auto row = static_cast<int64_t>(row_);
    if (contains(where, row) && contains(where, row - 1))
      from = inMemory(transposed(from));
    else
      for (int64_t& d : where) d = d == row ? row - 1 : d == row - 1 ? row : d;
    return rw_.broadcast(from, dims_, where);
  }

  Value transposed(Value v) {
    Ints order = range(rw_.shape(v).rank());
    std::swap(order[order.size() - 2], order[order.size() - 1]);
    return rw_.transpose(v, order);
  }

  // Not turned on the way, again and again.
  Value inMemory(Value v) {
    const Type type{rw_.shape(v)};
    return rw_.op(rw_.emitOp(OpKind::optimization_barrier_, {v}, {&type, 1})).result();
  }

  void compute(OpId id) {
    const Op op = rw_.op(id);
    Values operands;
    for (Value v : op.operands) operands.push_back(turned(v));
    turned_[op.result().index] =
        rw_.emit(op.kind, operands, {rw_.shape(op.result()).dtype, dims_}, Attrs(op.attrs));
  }

  void reduce() {
    Module& m = rw_.module();
    std::vector<Type> types;
    Values operands;
    for (Value v : reduce_.results) types.push_back(Type{rw_.shape(v)});
    for (Value v : inputs_) operands.push_back(turned(v));
    for (size_t k = inputs_.size(); k < reduce_.operands.size(); ++k)
      operands.push_back(reduce_.operand(k));
    const OpId id = m.addOp(OpKind::reduce_, operands, types);
    m.op(id).attrs = {{AttrKey::dimensions, Ints{static_cast<int64_t>(row_) - 1}}};
    m.op(id).regions = reduce_.regions;
    const Values results = m.op(id).results;
    rw_.place(id);
    for (size_t k = 0; k < results.size(); ++k) rw_.replace(reduce_.results[k], rw_.now(results[k]));
  }

  Rewriter& rw_;
  const Op reduce_;
  Dims dims_;
  size_t row_;  // the dimension that is reduced; the one before it is the pairs'
  Values inputs_;
  std::vector<OpId> work_;
  std::unordered_map<uint32_t, Value> turned_;
};

}  // namespace

bool turnPairs(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  return rw.shape(op.operand(0)).rank() > 1 && PairsTurn(rw, op).run();
}

}  // namespace tercel::passes
