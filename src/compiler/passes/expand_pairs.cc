#include <unordered_set>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/expand_reduce.h"
#include "compiler/passes/own_work.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kLongestRow = 40, kFewestPairs = 8, kFewestRowElements = 4096;
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
    const std::vector<OpId> work = ownWork(rw_, inputs_);
    if (!isSpread(work)) return false;
    std::swap(dims_[row_ - 1], dims_[row_]);
    WorkAnew anew(rw_, work, dims_, [&](Value v) { return turnedSpread(v); });
    for (Value& v : inputs_) v = anew.of(v);
    rw_.replaceAll(reduce_, rw_.reduceLike(reduce_, inputs_, {static_cast<int64_t>(row_) - 1}));
    return true;
  }

 private:
  bool isAlongShortRows() const {
    const Ints& reduced = reduce_.ints(AttrKey::dimensions);
    return reduced.size() == 1 && row_ > 0 && reduced[0] == static_cast<int64_t>(row_) &&
           dims_[row_] > 1 && dims_[row_] <= kLongestRow && dims_[row_ - 1] >= kFewestPairs &&
           elementCount(dims_) >= kFewestRowElements;
  }

  // Whether all that is read is small, and some of it varies along the pairs.
  bool isSpread(const std::vector<OpId>& work) const {
    std::unordered_set<uint32_t> made;
    for (OpId id : work) made.insert(rw_.op(id).result().index);
    bool varies = false;
    auto note = [&](Value v) {
      if (made.contains(v.index) || splatOf(rw_, v) || rw_.shape(v).rank() == 0) return true;
      const Op* op = rw_.def(v, OpKind::broadcast_in_dim_);
      if (!op || rw_.shape(op->operand(0)).elements() * kSpread > elementCount(dims_)) return false;
      varies = varies || contains(op->ints(AttrKey::broadcast_dimensions),
                                  static_cast<int64_t>(row_) - 1);
      return true;
    };
    for (Value v : inputs_)
      if (!note(v)) return false;
    for (OpId id : work)
      for (Value v : rw_.op(id).operands)
        if (!note(v)) return false;
    return varies && !work.empty();
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

  Rewriter& rw_;
  const Op reduce_;
  Dims dims_;
  size_t row_;  // the dimension that is reduced; the one before it is the pairs'
  Values inputs_;
};

}  // namespace

bool turnPairs(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  return rw.shape(op.operand(0)).rank() > 1 && PairsTurn(rw, op).run();
}

}  // namespace tercel::passes
