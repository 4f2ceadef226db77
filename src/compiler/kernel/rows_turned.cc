#include <algorithm>

#include "compiler/kernel/rows_nest.h"
#include "core/status.h"

namespace tercel::kernel {

using ir::Value;

// Whether it has an element for each place of the domain.
bool RowsNest::isThin(Value v) const { return m_.shape(v).dims == cluster_.domain; }

// Whether thin arrays are read in the domain's order alone, and a vector may go on into rows that
// others have been in.
bool RowsNest::suitsTurned() const {
  const std::vector<size_t> walked = plan_.walkedGroups();
  const bool is_row_last = walked.front() == plan_.vector() + 1 &&
                           walked.back() + 1 == plan_.loops().groups.size() &&
                           walked.size() == walked.back() - plan_.vector();
  if (!is_row_last || rowSize() > kLongestThinRow) return false;
  bool is_any = false;
  for (size_t i = 0; i < cluster_.inputs.size(); ++i) {
    if (!isThin(cluster_.inputs[i])) continue;
    if (!isTurnable(cluster_.inputs[i]) || !isReadInOrder(i)) return false;
    is_any = true;
  }
  for (size_t o = 0; o < cluster_.outputs.size(); ++o)
    if (stages_.isFullOutput(o) && !(isThin(cluster_.outputs[o]) &&
                                     !isComplex(m_.shape(cluster_.outputs[o]).dtype)))
      return false;
  return is_any;
}

bool RowsNest::isTurnable(Value v) const {
  const DType dtype = m_.shape(v).dtype;
  return !isComplex(dtype) && !isPred(dtype);
}

// Inputs are the first params.
bool RowsNest::isReadInOrder(size_t input) const {
  const LoopPlan& loops = plan_.loops();
  for (size_t a = 0; a < loops.accesses.size(); ++a) {
    const Access& access = loops.accesses[a];
    if (access.is_store || access.param != static_cast<int32_t>(input)) continue;
    if (loops.strides[a].empty() || access.index.constant != 0) return false;
    int64_t size = 1;
    for (size_t g = loops.groups.size(); g-- > 0; size *= loops.groupExtent(g))
      if (loops.strides[a][g] != size) return false;
  }
  return true;
}

void RowsNest::useTurned() {
  width_ = 1;
  if (low_.mayStoreAgain()) plan_.overlapLast();
  turned_.emplace(low_, space_, rowSize(), plan_.lanes());
  auto add = [&](Value v, bool is_turned) {
    const Scalar held = computedScalar(m_.shape(v).dtype);
    return is_turned ? b_.addScratch(held, rowSize() * plan_.lanes()) : BufferId{};
  };
  for (Value v : cluster_.inputs) turned_inputs_.push_back(add(v, isThin(v)));
  for (size_t o = 0; o < cluster_.outputs.size(); ++o)
    turned_outputs_.push_back(add(cluster_.outputs[o], stages_.isFullOutput(o)));
}

void RowsNest::emitTurned(Emitter& e, const std::vector<Index>& groups, const Position& rows) {
  const int64_t lanes = plan_.lanes();
  std::vector<Index> first = groups;
  for (size_t g = plan_.vector() + 1; g < first.size(); ++g) first[g] = Index(0);
  first[plan_.vector()] = space_.loop(rows.first, plan_.vectorExtent());
  uint64_t known = 0;
  TERCEL_CHECK(b_.isConstant(rows.count, &known), "thin rows of an unknown number");
  const auto count = static_cast<int64_t>(known);
  const V place = space_.emitScalar(space_.linear(plan_.domainAt(first), cluster_.domain));
  for (size_t i = 0; i < cluster_.inputs.size(); ++i) {
    const Value v = cluster_.inputs[i];
    if (!isThin(v)) continue;
    const std::vector<V> columns = e.scope([&] { return turned_->load(e, v, place, count); });
    for (size_t k = 0; k < columns.size(); ++k)
      b_.store(turned_inputs_[i], b_.index(0), columns[k], static_cast<int64_t>(k) * lanes);
    e.bindPlaced(v, turned_inputs_[i], turnedPlace());
  }
  emitColumns(e, groups, {&rows, 1});
  for (size_t o = 0; o < cluster_.outputs.size(); ++o) {
    if (!stages_.isFullOutput(o)) continue;
    std::vector<V> columns;
    for (int64_t k = 0; k < rowSize(); ++k)
      columns.push_back(b_.load(turned_outputs_[o], b_.index(0), plan_.lanes(), k * lanes));
    turned_->store(e, o, place, columns, count);
  }
}

// Where an element of the domain is in a block.
Emitter::Placement RowsNest::turnedPlace() {
  return [this, column = columnIndex(0)](std::span<const Index> at) {
    return savedIndex(Indices(at.begin(), at.end()), column);
  };
}

}  // namespace tercel::kernel
