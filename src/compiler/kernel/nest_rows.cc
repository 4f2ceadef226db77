#include <algorithm>

#include "compiler/kernel/reducer.h"
#include "compiler/kernel/rows_nest.h"

namespace tercel::kernel {
namespace {

constexpr int64_t kMaxSavedRow = 64 << 10;  // elements
constexpr int64_t kMaxSavedColumns = 512 << 10;  // bytes, half of a small L2 cache
constexpr int64_t kFewVectors = 2;  // side by side: one would leave half of what memory brings

}  // namespace

using ir::Op;
using ir::Value;

void RowsNest::run() {
  plan_.choose(cluster_.domain, cluster_.reduced,
               [&](Emitter& e, const Indices& i) { probe(e, i); });
  repeatable_ = std::ranges::all_of(
      stages_.reductions(), [&](size_t r) { return initIsRepeatable(m_, stages_.op(r)); });
  in_order_ = plan_.empty() || !plan_.isWalked(plan_.vector()) ||
              plan_.vector() == plan_.walkedGroups().back();
  constexpr int64_t kAccumulators = 8, kOfGathered = 2, kOfFew = 4;
  // Such rows are no loops, whose additions wait for each other. A task of little work must pay.
  bool is_short = rowSize() <= 4 && cluster_.ops.size() > 4;
  int64_t carried = std::max<int64_t>(1, static_cast<int64_t>(stages_.accumulators()));
  const bool fills = makesVectors() && repeatable_ && isPlain() && plan_.fillWithRows();
  const bool gathers = !fills && plan_.avoidRowsUpTo(longestGatheredRow());
  int64_t most = gathers              ? kOfGathered
                 : is_short || isCostly() ? kOfFew
                                          : kAccumulators;
  width_ = std::max<int64_t>(1, most / carried);
  if (gathers && suitsTurned()) useTurned();
  if (plan_.rows() && !repeatable_) plan_.useScalars();
  if (!fills) plan_.blockRowsUpTo(longestBlockedRow());
  findSaved();
  streaming_ = plan_.streams();
  if (!turned_) chooseStrips();
  if (b_.machine.slow_subnormals && stages_.sumsProducts()) b_.forgetSubnormals();
  plan_.forTasks(width_, [&](Emitter& e, const std::vector<Index>& groups,
                             std::span<const Position> columns) {
    if (plan_.blocks()) return emitBlock(e, groups, columns[0]);
    if (plan_.strips()) return emitStrip(e, groups);
    if (turned_) return emitTurned(e, groups, columns[0]);
    plan_.rows() ? emitRow(e, groups) : emitColumns(e, groups, columns);
  });
}

// Additions hardly wait for each other where what is added takes long: fewer at a time are compiled
// sooner. Several passes over columns are wide for the memory's sake.
bool RowsNest::isCostly() const {
  if (stages_.count() > 1 && !plan_.rows()) return false;
  for (int stage = 0; stage < stages_.count(); ++stage)
    if (stages_.computesCostly(stage)) return true;
  return false;
}

// Touches everything once, reductions as opaque numbers.
void RowsNest::probe(Emitter& e, const Indices& domain) {
  for (size_t r : stages_.reductions())
    for (Value v : stages_.op(r).results) {
      Type type{computedScalar(m_.shape(v).dtype), 1};
      V x = e.builder().opaque(type);
      e.bindElem(v, {x, isComplex(m_.shape(v).dtype) ? x : V{}});
    }
  for (size_t r : stages_.reductions()) operands(e, r, domain);
  for (size_t o = 0; o < cluster_.outputs.size(); ++o)
    storeOutput(e, o, stages_.outputIndices(o, domain));
}

// Whether merging lanes takes many instructions: all but one operation that the machine has.
bool RowsNest::foldsSlowly(const Op& reduction) const {
  const ir::Region& body = m_.region(reduction.regions[0]);
  if (body.ops.size() != 1) return true;
  ir::OpKind kind = m_.op(body.ops[0]).kind;
  bool extremum = kind == ir::OpKind::maximum_ || kind == ir::OpKind::minimum_;
  return extremum && isFloat(m_.shape(reduction.result()).dtype);
}

bool RowsNest::foldsSlowly() const {
  return std::ranges::any_of(stages_.reductions(),
                             [&](size_t r) { return foldsSlowly(stages_.op(r)); });
}

// Whether few vectors hold the elements of as many rows as there are lanes.
bool RowsNest::readsNarrow() const {
  return std::ranges::all_of(cluster_.inputs, [&](Value v) {
    return byteSize(m_.shape(v).dtype) <= 2;
  });
}

// To merge the lanes of such a row takes longer than to gather, and scatter, its elements.
int64_t RowsNest::longestGatheredRow() const {
  const int words = low_.machine.vector_bytes / 4;
  const int lanes = std::min(vectorLanes(m_, cluster_, low_.machine), words);
  return foldsSlowly() || readsNarrow() || makesFlags() ? 3 * lanes / 4 : 3 * lanes / 8;
}

// Whether each accumulator is one number.
bool RowsNest::isPlain() const {
  return std::ranges::all_of(stages_.reductions(), [&](size_t r) {
    return std::ranges::none_of(stages_.op(r).results, [&](Value v) {
      DType dtype = m_.shape(v).dtype;
      return isPred(dtype) || isComplex(dtype);
    });
  });
}

bool RowsNest::makesFlags() const {
  return std::ranges::all_of(stages_.reductions(), [&](size_t r) {
    return isPred(m_.shape(stages_.op(r).results[0]).dtype);
  });
}

// To merge the lanes of such a row takes so long, beside the rest, that those of many rows are
// better merged at once.
int64_t RowsNest::longestBlockedRow() const {
  if (!isPlain()) return 0;
  return foldsSlowly() ? 32 * plan_.lanes() : makesVectors() ? rowSize() : 0;
}

// Whether all that is made of a row is one vector, soon: as many rows as there are lanes are merged
// where they are made.
bool RowsNest::makesVectors() const {
  return stages_.count() == 1 && stages_.accumulators() == 1 && rowSize() < 2 * plan_.lanes();
}

int64_t RowsNest::rowSize() const {
  int64_t size = 1;
  for (size_t d = 0; d < cluster_.domain.size(); ++d)
    if (cluster_.reduced[d]) size *= cluster_.domain[d];
  return size;
}

// Whether an input has all elements of the domain.
bool RowsNest::readsWhole() const {
  return std::ranges::any_of(cluster_.inputs, [&](Value v) {
    return m_.shape(v).dims == cluster_.domain;
  });
}

// Costly values that a later stage needs again are kept in scratch memory, a row or a task's
// columns of them.
void RowsNest::findSaved() {
  auto reused = stages_.reused();
  std::erase_if(reused, [&](const auto& r) { return isComplex(savedType(r.op)); });
  int64_t row = rowSize(), bytes = 0;
  for (const auto& r : reused) bytes += byteSize(computedScalar(savedType(r.op)));
  if (plan_.rows()) {
    if (row > kMaxSavedRow) return;
  } else {
    int64_t vector = row * bytes * plan_.lanes();
    if (std::min(width_, kFewVectors) * vector > kMaxSavedColumns) return;
    while (width_ * vector > kMaxSavedColumns) width_ /= 2;
    pitch_ = width_ * plan_.lanes();
  }
  row_size_ = row;
  int64_t rows = plan_.blocks() ? plan_.lanes() : 1;
  for (auto [op, stage] : reused)
    saved_.push_back(
        {op, stage, b_.addScratch(computedScalar(savedType(op)), rows * row * pitch_)});
}

Status lowerRows(Lowering& low) {
  RowsNest(low).run();
  return Status();
}

}  // namespace tercel::kernel
