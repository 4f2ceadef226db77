#include "compiler/plan/made_before.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/plan/op_traits.h"

namespace tercel::plan {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

int32_t lastOf(const Domain& domain) {
  return domain.order.empty() ? static_cast<int32_t>(domain.extents.size()) - 1
                              : domain.order.back();
}

}  // namespace

// opWeight, but of time: quotients and roots are few instructions that take long.
double MadeBefore::timeWeight(const Op& o) const {
  constexpr double kQuotient = 12;
  return std::max(opWeight(m_, o), ir::isCostly(o.kind) ? kQuotient : 0);
}

// Of it and of what would come with it, as far as that is no more than `most`.
double MadeBefore::timeBehind(uint32_t p, double most) const {
  std::vector<uint32_t> behind = {p};
  std::unordered_set<uint32_t> seen = {p};
  double time = 0;
  for (size_t i = 0; i < behind.size() && time <= most; ++i) {
    time += timeWeight(op(behind[i]));
    for (Value v : op(behind[i]).operands)
      if (auto made = uses_.positionOf(v); made && ir::isElementwise(op(*made).kind) &&
                                           !uses_.escapes(*made) && seen.insert(*made).second)
        behind.push_back(*made);
  }
  return time;
}

// Needed at several places, as by a stencil, with more behind it than its own work: what would
// come with it and be done again there too.
bool MadeBefore::bringsMuch(uint32_t p, const AccessMap& map) const {
  const double kMuch = isFar(m_, op(p)) ? 48 : 24;
  if (map.regular || map.repeats <= 1 || !ir::isElementwise(op(p).kind)) return false;
  const double most = kMuch / (map.repeats - 1);
  return timeBehind(p, most) > most;
}

// The same all along the short lines of a reduction, which would make it without vectors.
bool MadeBefore::isBetterInVectors(uint32_t p, const Group& group,
                                   const AccessMap& map) const {
  constexpr double kMuch = 12;
  constexpr int64_t kShort = 8;
  const Domain& domain = group.domain;
  if (!group.has_reduce || domain.extents.size() < 2 || !map.regular ||
      m_.shape(op(p).result()).elements() <= kShort * kShort)
    return false;
  const int32_t last = lastOf(domain);
  if (domain.extents[last] >= kShort) return false;
  return std::ranges::find(map.dims, last) == map.dims.end() && timeBehind(p, kMuch) > kMuch;
}

// Elements from anywhere, to be summed up in short lines: vectors across these would work out the
// places of each line again. What joins several is made with them.
bool MadeBefore::isGatheredForLines(uint32_t p, const Group& group, const AccessMap& map) const {
  constexpr int64_t kShort = 32, kVector = 8, kFewest = 1024;
  const Domain& domain = group.domain;
  if (!group.has_reduce || !map.regular || map.dims.empty()) return false;
  if (std::ranges::count(domain.reduced, true) != 1) return false;
  const int32_t last = lastOf(domain);
  const int64_t line = domain.extents[last];
  if (!domain.reduced[last] || map.dims.back() != last || line <= 4 || line >= kShort ||
      line % kVector == 0 || m_.shape(op(p).result()).elements() < kFewest)
    return false;
  if (gathersElements(op(p))) return true;
  size_t most = 0;
  for (Value v : op(p).operands) most = std::max(most, gathersBehind(v));
  return ir::isElementwise(op(p).kind) && most < gathersBehind(op(p).result());
}

bool MadeBefore::gathersElements(const Op& o) const {
  if (o.kind != OpKind::gather_ || !o.ints(ir::AttrKey::operand_batching_dims).empty()) return false;
  const ir::Ints& windows = o.ints(ir::AttrKey::offset_dims);
  return std::ranges::find(windows, m_.shape(o.result()).rank() - 1) == windows.end();
}

size_t MadeBefore::gathersBehind(Value v) const {
  constexpr size_t kMost = 32;
  std::vector<Value> behind = {v};
  std::unordered_set<uint32_t> gathers, seen;
  for (size_t i = 0; i < behind.size() && i < kMost; ++i) {
    const auto made = uses_.positionOf(behind[i]);
    if (!made || uses_.escapes(*made) || !seen.insert(*made).second) continue;
    if (gathersElements(op(*made)))
      gathers.insert(*made);
    else if (ir::isElementwise(op(*made).kind))
      behind.insert(behind.end(), op(*made).operands.begin(), op(*made).operands.end());
  }
  return gathers.size();
}

// Short rows, wherever they lie, fill no vectors: what takes long is made before.
bool MadeBefore::isGatheredInRows(uint32_t p, const Group& group,
                                  const AccessMap& map) const {
  constexpr double kMuch = 12;
  constexpr int64_t kShort = 8;
  const Domain& domain = group.domain;
  const int64_t row = domain.extents.empty() ? 1 : domain.extents.back();
  const int64_t made = m_.shape(op(p).result()).elements();
  return !map.regular && row > 1 && row < kShort && made > kShort * kShort &&
         made <= elementCount(domain.extents) && timeBehind(p, kMuch) > kMuch &&
         std::ranges::any_of(group.members,
                             [&](uint32_t i) { return op(i).kind == OpKind::gather_; });
}

}  // namespace tercel::plan
