#include "compiler/plan/region_uses.h"

namespace tercel::plan {

using ir::Value;

RegionUses::RegionUses(const ir::Module& m, ir::RegionId id)
    : m_(m), users_(m.region(id).ops.size()), escapes_(users_.size(), false) {
  const ir::Region& region = m.region(id);
  position_.reserve(2 * users_.size());
  for (uint32_t p = 0; p < users_.size(); ++p) {
    const ir::Op& op = m.op(region.ops[p]);
    note(op, p);
    for (Value v : op.results) position_.emplace(v.index, p);
  }
  for (Value v : region.results)
    if (auto p = positionOf(v)) escapes_[*p] = true, noteRead(v);
}

std::optional<uint32_t> RegionUses::positionOf(Value v) const {
  auto at = position_.find(v.index);
  return at == position_.end() ? std::nullopt : std::optional(at->second);
}

bool RegionUses::isRead(Value v) const {
  return m_.def(v)->results.size() == 1 || read_.contains(v.index);
}

const std::vector<uint32_t>& RegionUses::readers(Value v) const {
  static const std::vector<uint32_t> none;
  const auto at = readers_.find(v.index);
  return at == readers_.end() ? none : at->second;
}

void RegionUses::note(const ir::Op& user, uint32_t position) {
  for (Value v : user.operands) note(v, position);
  for (ir::RegionId r : user.regions) {
    for (ir::OpId inner : m_.region(r).ops) note(m_.op(inner), position);
    for (Value v : m_.region(r).results) note(v, position);
  }
}

void RegionUses::note(Value v, uint32_t position) {
  auto made = positionOf(v);
  std::vector<uint32_t>& users = made ? users_[*made] : readers_[v.index];
  if (users.empty() || users.back() != position) users.push_back(position);
  if (made) noteRead(v);
}

void RegionUses::noteRead(Value v) {
  if (m_.def(v)->results.size() > 1) read_.insert(v.index);
}

}  // namespace tercel::plan
