#include <algorithm>

#include "compiler/kernel/rows_nest.h"

namespace tercel::kernel {

using ir::Value;

// Whether it has an element for each place of the domain.
bool RowsNest::isThin(Value v) const { return m_.shape(v).dims == cluster_.domain; }

// Whether all that varies along a row lies in the domain's order, or is the same for all rows, and
// a vector may go on into rows that others have been in.
bool RowsNest::suitsTurned() const {
  const LoopPlan& loops = plan_.loops();
  const size_t vector = plan_.vector();
  if (!isPlain() || rowSize() > kLongestThinRow || vector + 1 + plan_.walkedGroups().size() !=
      loops.groups.size() || plan_.walkedGroups().front() != vector + 1)
    return false;
  if (!low_.mayStoreAgain() && plan_.vectorExtent() % plan_.lanes() != 0) return false;
  auto isPlainArray = [&](Value v) {
    const DType dtype = m_.shape(v).dtype;
    return !isThin(v) || !(isComplex(dtype) || isPred(dtype));
  };
  if (!std::ranges::all_of(cluster_.inputs, isPlainArray)) return false;
  for (size_t o = 0; o < cluster_.outputs.size(); ++o)
    if (stages_.isFullOutput(o) &&
        !(isThin(cluster_.outputs[o]) && isPlainArray(cluster_.outputs[o])))
      return false;
  bool is_any = false;
  for (size_t a = 0; a < loops.accesses.size(); ++a) {
    const auto& strides = loops.strides[a];
    if (strides.empty()) return false;
    auto walks = [&](size_t g) { return strides[g] != 0; };
    if (strides[vector] == 0 || std::ranges::none_of(plan_.walkedGroups(), walks)) continue;
    int64_t size = 1;
    for (size_t g = strides.size(); g-- > 0; size *= loops.groupExtent(g))
      if (strides[g] != size) return false;
    if (loops.accesses[a].index.constant != 0) return false;
    is_any = true;
  }
  return is_any;
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
  const V place = space_.emitScalar(space_.linear(plan_.domainAt(first), cluster_.domain));
  for (size_t i = 0; i < cluster_.inputs.size(); ++i) {
    const Value v = cluster_.inputs[i];
    if (!isThin(v)) continue;
    const std::vector<V> columns = e.scope([&] { return turned_->load(e, v, place); });
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
    turned_->store(e, o, place, columns);
  }
}

// Where an element of the domain is in a block.
Emitter::Placement RowsNest::turnedPlace() {
  return [this, column = columnIndex(0)](std::span<const Index> at) {
    return savedIndex(Indices(at.begin(), at.end()), column);
  };
}

}  // namespace tercel::kernel
