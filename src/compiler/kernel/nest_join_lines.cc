// Rows of lines of several elements that are made in different ways, as jnp.concatenate writes them
// along the last axis: each line of a row in vectors as wide as it is, of which the last one overlaps
// the one before.
#include <algorithm>
#include <set>

#include "compiler/kernel/line_tasks.h"
#include "compiler/kernel/nest_transpose.h"

namespace tercel::kernel {
namespace {

constexpr int64_t kTaskLineElements = 4096;
constexpr int64_t kMostLineOps = 5 * kMostLineVectors;  // written out

class JoinLinesNest {
 public:
  explicit JoinLinesNest(Lowering& low)
      : m_(low.module), low_(low), b_(low.builder), space_(b_),
        output_(low.cluster.outputs[0]), dims_(m_.shape(output_).dims) {}

  bool suits() {
    const DType dtype = low_.movedAs(m_.shape(output_).dtype);
    if (low_.cluster.outputs.size() != 1 || isComplex(dtype) || isPred(dtype) ||
        elementCount(dims_) == 0 || !low_.mayStoreAgain() || !cutRows())
      return false;
    lanes_ = vectorLanes(m_, low_.cluster, low_.machine);
    plan_ = planLoops(low_, dims_, [&](Emitter& e, const Indices& i) {
      storeOutputs(low_, e, dims_, i);
    });
    return !fitsChoices() && findRows() && readsLines() && fillVectors();
  }

  void run() {
    LineTasks tasks{plan_, long_, {}, 1, std::max<int64_t>(1, kTaskLineElements / length_)};
    for (size_t g = 0; g < long_; ++g) tasks.outer.push_back(g);
    tasks.run(low_, space_, [&](const std::vector<Index>& groups, V i) { emitRow(groups, i); });
  }

 private:
  struct Vector {
    int64_t begin;  // in the row
    int64_t lanes;
  };

  static bool joins(const ir::Op& op) {
    return op.kind == ir::OpKind::concatenate_ && op.operands.size() > 1;
  }
  int64_t extent(size_t group) const { return plan_.groupExtent(group); }

  // Where lines begin: a row is what the outermost dimension is cut in and those within.
  bool cutRows() {
    size_t first = dims_.size();
    auto along = [](const ir::Op& op) {
      return static_cast<size_t>(op.integer(ir::AttrKey::dimension));
    };
    for (ir::OpId id : low_.cluster.ops) {
      const ir::Op& op = m_.op(id);
      if (!joins(op)) continue;
      if (m_.shape(op.result()).dims != dims_) return false;
      first = std::min(first, along(op));
    }
    if (first == dims_.size()) return false;
    length_ = elementCount(std::span(dims_).subspan(first));
    for (ir::OpId id : low_.cluster.ops)
      if (joins(m_.op(id))) cutWhereJoined(m_.op(id), along(m_.op(id)));
    return static_cast<int64_t>(cuts_.size()) <= kMostLineVectors;
  }

  void cutWhereJoined(const ir::Op& op, size_t along) {
    const int64_t line = elementCount(std::span(dims_).subspan(along));
    for (int64_t begin = 0; begin < length_; begin += line) {
      int64_t at = begin;
      for (ir::Value v : op.operands) {
        cuts_.insert(at);
        if (static_cast<int64_t>(cuts_.size()) > kMostLineVectors) return;
        at += elementCount(std::span(m_.shape(v).dims).subspan(along));
      }
    }
  }

  // Whether vectors of a few whole rows, or of one line each, choose among few lines anyway.
  bool fitsChoices() const {
    constexpr int64_t kFewLines = 4, kFewVectors = 3;
    const auto lines = static_cast<int64_t>(cuts_.size());
    if (lines > kFewLines) return false;
    const int64_t lanes =
        low_.machine.vector_bytes / byteSize(low_.movedAs(m_.shape(output_).dtype));
    auto isNarrow = [&](int64_t cut) { return lineAt(cut) < lanes; };
    return lines * length_ <= kFewVectors * lanes || std::ranges::none_of(cuts_, isNarrow);
  }

  // The last groups make a row, the one before goes from row to row.
  bool findRows() {
    int64_t length = 1;
    size_t g = plan_.groups.size();
    while (g > 0 && length < length_) length *= extent(--g);
    if (g == 0 || length != length_) return false;
    long_ = g - 1;
    return true;
  }

  // Whether elements of a line lie one after another, or are one.
  bool readsLines() const {
    return std::ranges::all_of(plan_.strides, [&](const std::vector<int64_t>& strides) {
      return !strides.empty() && (strides.back() == 0 || strides.back() == 1);
    });
  }

  int64_t lineAt(int64_t cut) const {
    const auto next = cuts_.upper_bound(cut);
    return (next == cuts_.end() ? length_ : *next) - cut;
  }

  bool fillVectors() {
    for (int64_t cut : cuts_) {
      const int64_t end = cut + lineAt(cut), lanes = lanesOfLine(end - cut, lanes_);
      for (int64_t begin = cut; begin < end; begin += lanes)
        vectors_.push_back({std::min(begin, end - lanes), lanes});
    }
    const auto vectors = static_cast<int64_t>(vectors_.size());
    return vectors <= kMostLineVectors && vectors * opsOfVector() <= kMostLineOps;
  }

  // Of each, roughly: lines are made of other ops.
  int64_t opsOfVector() const {
    const int64_t most = elementCount(dims_);
    int64_t elements = 0;
    for (ir::OpId id : low_.cluster.ops)
      if (!joins(m_.op(id))) elements += m_.shape(m_.op(id).result()).elements();
    return 1 + elements / most;
  }

  void emitRow(std::vector<Index> groups, V i) {
    groups[long_] = space_.loop(i, extent(long_));
    const V row = space_.emitScalar(space_.linear(domainAt(groups, {0, 1}), dims_));
    for (const Vector& v : vectors_) {
      Emitter e(b_, space_, m_, static_cast<int>(v.lanes));
      low_.bindInputs(e);
      const Elem made = e.at(output_, domainAt(groups, v));
      const Index first = space_.loop(row, elementCount(dims_) - v.begin, v.lanes > 1);
      low_.storeOutput(e, 0, space_.add(first, Index(v.begin)), made);
    }
  }

  Indices domainAt(const std::vector<Index>& groups, const Vector& v) {
    return rowIndices(space_, plan_, dims_.size(), groups, long_, v.begin, v.lanes);
  }

  const ir::Module& m_;
  Lowering& low_;
  Builder& b_;
  IndexSpace space_;
  ir::Value output_;
  Dims dims_;
  LoopPlan plan_;
  int64_t length_ = 1;     // of a row
  std::set<int64_t> cuts_;  // where its lines begin
  std::vector<Vector> vectors_;
  size_t long_ = 0;
  int lanes_ = 1;
};

}  // namespace

bool lowerJoinedLines(Lowering& low) { return lowerWhereSuited<JoinLinesNest>(low); }

}  // namespace tercel::kernel
