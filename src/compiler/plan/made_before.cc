#include "compiler/plan/made_before.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/plan/op_traits.h"

namespace tercel::plan {

using ir::Op;
using ir::OpKind;
using ir::Value;

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
  const int32_t last = domain.order.empty() ? static_cast<int32_t>(domain.extents.size()) - 1
                                            : domain.order.back();
  if (domain.extents[last] >= kShort) return false;
  return std::ranges::find(map.dims, last) == map.dims.end() && timeBehind(p, kMuch) > kMuch;
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
