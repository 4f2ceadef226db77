#include "compiler/plan/shifts.h"

#include <algorithm>

#include "compiler/plan/op_traits.h"

namespace tercel::plan {

using ir::AttrKey;
using ir::OpKind;

std::optional<size_t> Shifts::count(uint32_t p, const UsesIn& in) {
  const Places places = through(p, in);
  if (!places) return std::nullopt;
  return places->size();
}

const Shifts::Places& Shifts::of(uint32_t p, uint32_t group) {
  const auto [at, is_new] = known_.try_emplace(uint64_t{group} << 32 | p);
  if (!is_new) return at->second;
  const Group& own = groups_[group];
  if (groups_.mapOf(p, group).isIdentity(own.domain))
    return at->second = std::set{Shift(own.domain.extents.size())};
  UsesIn in{group, {}};
  for (uint32_t u : groups_.uses().users(p))
    if (groups_.isIn(u, group)) in.users.push_back(u);
  Places places = through(p, in);
  return known_[uint64_t{group} << 32 | p] = std::move(places);
}

Shifts::Places Shifts::through(uint32_t p, const UsesIn& in) {
  constexpr size_t kMany = 64;
  const size_t rank = groups_[in.group].domain.extents.size();
  if (op(p).results.empty() || m_.shape(op(p).result()).dims.size() != rank) return std::nullopt;
  std::set<Shift> all;
  for (uint32_t u : in.users) {
    const Places& places = of(u, in.group);
    if (!places || !add(op(u), *places, all) || all.size() > kMany) return std::nullopt;
  }
  return all;
}

// What an op's operand is read at where the op is needed at `from`.
bool Shifts::add(const ir::Op& user, const std::set<Shift>& from, std::set<Shift>& to) const {
  const bool is_slice = user.kind == OpKind::slice_;
  if (!is_slice && !ir::isElementwise(user.kind)) return false;
  if (is_slice && std::ranges::any_of(user.ints(AttrKey::strides), [](int64_t s) { return s != 1; }))
    return false;
  for (Shift shift : from) {
    if (is_slice) {
      const ir::Ints& start = user.ints(AttrKey::start_indices);
      if (start.size() != shift.size()) return false;
      for (size_t d = 0; d < shift.size(); ++d) shift[d] += start[d];
    }
    to.insert(std::move(shift));
  }
  return true;
}

}  // namespace tercel::plan
