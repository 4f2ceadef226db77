#include "compiler/plan/from_memory.h"

#include <algorithm>
#include <optional>

#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpKind;

// One element, or of those along the last dimension all, or one for many of them.
bool isCheapToRead(const ir::Module& m, ir::Value v) {
  constexpr int64_t kManyLanes = 32;
  const Op& from = *m.def(v);
  if (from.kind == OpKind::constant_ || m.shape(from.operand(0)).elements() == 1) return true;
  const ir::Ints& kept = from.ints(ir::AttrKey::broadcast_dimensions);
  const Dims &dims = m.shape(v).dims, &given = m.shape(from.operand(0)).dims;
  const bool has_last = !kept.empty() && kept.back() == static_cast<int64_t>(dims.size()) - 1 &&
                        given.back() == dims.back();
  return has_last || dims.back() >= kManyLanes;
}

// Of large arrays a function is cheap, too: to keep its results in memory and to bring them back takes
// longer than to compute them again.
bool isCheap(const ir::Module& m, const Op& op) {
  constexpr int64_t kLarge = 4 << 20;  // bytes, more than caches near a core hold
  constexpr double kFunction = 16;
  if (isCheapOnMany(m, op)) return true;
  return ir::isElementwise(op.kind) && op.kind != OpKind::map_ && opWeight(m, op) <= kFunction &&
         m.shape(op.result()).bytes() >= kLarge;
}

// Of cheap work on one array, with constants and arrays that are much smaller: that array.
std::optional<ir::Value> onlyArray(const ir::Module& m, const Op& op) {
  if (!isCheap(m, op)) return std::nullopt;
  std::optional<ir::Value> array;
  for (ir::Value v : op.operands) {
    if (isMuchSmaller(m, v, m.shape(op.result()).elements())) {
      if (!isCheapToRead(m, v)) return std::nullopt;
      continue;
    }
    if (array && !(*array == v)) return std::nullopt;
    array = v;
  }
  return array;
}

bool mayUpdate(const Op& op) {
  return updatesInPlace(op.kind) || isCallOrControl(op);
}

}  // namespace

std::optional<ir::Value> memoryBehind(const ir::Module& m, ir::RegionId region,
                                      const RegionUses& uses, uint32_t position) {
  constexpr int kFar = 8;
  constexpr double kMuch = 32;
  auto op = [&](uint32_t p) -> const Op& { return m.op(m.region(region).ops[p]); };
  double work = 0;
  for (int steps = 0; steps < kFar; ++steps) {
    const std::optional<ir::Value> from = onlyArray(m, op(position));
    work += opWeight(m, op(position));
    if (!from || work > kMuch) return {};
    const std::optional<uint32_t> made = uses.positionOf(*from);
    if (!made && staysAsItIs(m, region, *from)) return from;
    const std::vector<uint32_t>& users = made ? uses.users(*made) : uses.readers(*from);
    if (users.size() > 1) {
      const bool updated = std::ranges::any_of(users, [&](uint32_t u) { return mayUpdate(op(u)); });
      return updated ? std::nullopt : from;
    }
    if (!made) return {};
    position = *made;
  }
  return {};
}

bool readsNumbersBeside(const ir::Module& m, const Op& op) {
  const std::optional<ir::Value> array = onlyArray(m, op);
  return std::ranges::all_of(op.operands, [&](ir::Value v) {
    const Op* from = m.def(v);
    return v == array || (from && from->kind == OpKind::constant_ && !isMemoryConstant(*from));
  });
}

}  // namespace tercel::plan
