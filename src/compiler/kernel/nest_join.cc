// Rows of a few elements that are made in different ways, as jnp.stack writes them: each way for as
// many rows as a vector has lanes. The results change places in registers; what is stored behind
// them, the next ones overwrite.
#include <algorithm>

#include "compiler/kernel/line_tasks.h"
#include "compiler/kernel/nest_transpose.h"
#include "compiler/kernel/thin_rows.h"

namespace tercel::kernel {
namespace {

constexpr int64_t kTaskElements = 4096;
constexpr int64_t kMostOps = 400;  // written out: more than fusion brings together

class JoinNest {
 public:
  explicit JoinNest(Lowering& low)
      : m_(low.module), low_(low), b_(low.builder), space_(b_),
        output_(low.cluster.outputs[0]), dims_(m_.shape(output_).dims) {}

  bool suits() {
    const DType dtype = low_.movedAs(m_.shape(output_).dtype);
    if (low_.cluster.outputs.size() != 1 || isComplex(dtype) || isPred(dtype) ||
        !low_.mayStoreAgain())
      return false;
    if (std::ranges::none_of(low_.cluster.ops, [&](ir::OpId id) { return chooses(m_.op(id)); }))
      return false;
    lanes_ = vectorLanes(m_, low_.cluster, low_.machine);
    plan_ = planLoops(low_, dims_, [&](Emitter& e, const Indices& i) {
      storeOutputs(low_, e, dims_, i);
    });
    return findRows() && (joinsOnes() || readsAcrossRows()) && opsOfRow() <= kMostOps;
  }

  void run() {
    LineTasks tasks{plan_, long_, {}, lanes_, block()};
    for (size_t g = 0; g < long_; ++g) tasks.outer.push_back(g);
    tasks.run(low_, space_, [&](const std::vector<Index>& groups, V i) { emitRows(groups, i); });
  }

 private:
  static bool joins(const ir::Op& op) {
    return op.kind == ir::OpKind::concatenate_ && op.operands.size() > 1;
  }
  static bool chooses(const ir::Op& op) { return joins(op) || op.kind == ir::OpKind::pad_; }
  int64_t extent(size_t group) const { return plan_.groupExtent(group); }
  int64_t rows() const { return elementCount(dims_) / length_; }
  int64_t block() const { return (kTaskElements / length_ + lanes_ - 1) / lanes_ * lanes_; }

  // The last groups make a row, the one before goes from row to row.
  bool findRows() {
    for (size_t g = plan_.groups.size(); g-- > 1;) {
      if (length_ * extent(g) > kLongestThinRow) break;
      length_ *= extent(g);
      long_ = g - 1;
    }
    return length_ > 1 && extent(long_) >= lanes_;
  }

  bool joinsOnes() const {
    bool any = false;
    for (ir::OpId id : low_.cluster.ops) {
      if (!joins(m_.op(id))) continue;
      any = true;
      if (!isOfOnes(m_.op(id))) return false;
    }
    return any;
  }

  // Whether what stands in one place of all rows lies in a line, or is one.
  bool readsAcrossRows() const {
    const auto loads = std::span(plan_.strides).first(plan_.strides.size() - 1);
    return std::ranges::all_of(loads, [&](const std::vector<int64_t>& strides) {
      return !strides.empty() && std::abs(strides[long_]) <= 1;
    });
  }

  // Whether it joins what has one element in each row, or has been joined of such.
  bool isOfOnes(const ir::Op& concatenate) const {
    return std::ranges::all_of(concatenate.operands, [&](ir::Value v) {
      const ir::Op* def = m_.def(v);
      while (def && def->kind == ir::OpKind::reshape_) def = m_.def(def->operand(0));
      return m_.shape(v).elements() <= rows() || (def && joins(*def));
    });
  }

  int64_t opsOfRow() const {
    int64_t count = 0;
    for (ir::OpId id : low_.cluster.ops)
      count += std::max<int64_t>(1, m_.shape(m_.op(id).result()).elements() / rows());
    return count;
  }

  void emitRows(std::vector<Index> groups, V i) {
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    groups[long_] = space_.loop(i, extent(long_), true);
    std::vector<V> lines;
    for (int64_t r = 0; r < length_; ++r)
      lines.push_back(b_.widen(e.at(output_, domainAt(groups, r)).re, lanes_));
    groups[long_] = space_.loop(i, extent(long_));
    const V place = space_.emitScalar(space_.linear(domainAt(groups, 0), dims_));
    ThinRows(low_, space_, length_, lanes_).store(e, 0, place, lines, lanes_);
  }

  Indices domainAt(const std::vector<Index>& groups, int64_t in_row) {
    return rowIndices(space_, plan_, dims_.size(), groups, long_, in_row);
  }

  const ir::Module& m_;
  Lowering& low_;
  Builder& b_;
  IndexSpace space_;
  ir::Value output_;
  Dims dims_;
  LoopPlan plan_;
  size_t long_ = 0;
  int64_t length_ = 1;  // of a row
  int lanes_ = 1;
};

}  // namespace

bool lowerJoined(Lowering& low) { return lowerWhereSuited<JoinNest>(low); }

}  // namespace tercel::kernel
