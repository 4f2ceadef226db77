// Stencils: at how many places a loop's element needs a value, where the places are shifts of its own.
#pragma once
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "compiler/plan/groups.h"

namespace tercel::plan {

class Shifts {
 public:
  Shifts(const ir::Module& module, ir::RegionId region, const Groups& groups)
      : m_(module), region_(module.region(region)), groups_(groups) {}

  // What AccessMap::repeats counts with every use: here uses of one element are one. Empty where
  // they are no shifts, or are many.
  std::optional<size_t> count(uint32_t p, const UsesIn& in);

 private:
  using Shift = std::vector<int64_t>;
  using Places = std::optional<std::set<Shift>>;

  const ir::Op& op(uint32_t p) const { return m_.op(region_.ops[p]); }
  const Places& of(uint32_t p, uint32_t group);
  Places through(uint32_t p, const UsesIn& in);
  bool add(const ir::Op& user, const std::set<Shift>& from, std::set<Shift>& to) const;

  const ir::Module& m_;
  const ir::Region& region_;
  const Groups& groups_;
  std::unordered_map<uint64_t, Places> known_;  // of members, by group and position
};

}  // namespace tercel::plan
