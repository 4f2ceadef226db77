// The groups that fusion makes of a region's ops: each becomes a cluster, or a step of its own.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/kernel/cluster.h"
#include "compiler/plan/access_map.h"
#include "compiler/plan/region_uses.h"

namespace tercel::plan {

// Ops are named by their positions in the region.
inline constexpr uint32_t kNoGroup = 0xffffffffu;

struct Group {
  std::vector<uint32_t> members;  // descending
  Domain domain;
  double weight = 0;
  double path = 0;  // the most of it that is to be done one after the other
  bool has_heavy = false;      // a dot, convolution, window: evaluated at each element
  bool has_reduce = false;
  bool adds_product = false;   // a member takes a heavy op's only use, which is to join
  bool is_update = false;      // a dynamic_update_slice or a scatter in place
  bool takes_lines = false;    // a concatenation of many lines: what is made in these may join
  bool alone = false;          // never joined by others (a step of its own)
  uint32_t ahead = kNoGroup;   // the group that makes what does not fit in this one any more
  size_t makes = 0;            // how much a group makes that is ahead of others
  std::vector<bool> apart;     // positions that read what it updates: kept out, to update in place
};

// The users of a value that are in one group, itself or as copies.
struct UsesIn {
  uint32_t group;
  std::vector<uint32_t> users;
};

class Groups {
 public:
  Groups(const ir::Module& module, ir::RegionId region)
      : m_(module), region_(module.region(region)), uses_(module, region),
        owner_(region_.ops.size(), kNoGroup), path_(region_.ops.size()), copies_(region_.ops.size()) {}

  const RegionUses& uses() const { return uses_; }
  Group& operator[](uint32_t g) { return groups_[g]; }
  const Group& operator[](uint32_t g) const { return groups_[g]; }
  uint32_t add();
  // The one that has an op itself; others have copies of it.
  uint32_t ownerOf(uint32_t p) const { return owner_[p]; }
  // `map`: how the group's domain indexes the op's value.
  void own(uint32_t p, uint32_t g, AccessMap map);
  void addCopy(uint32_t p, uint32_t g, AccessMap map);

  std::vector<UsesIn> usesByGroup(uint32_t p);
  // How the value of p is indexed from the domain of a group, through all its users there.
  AccessMap mapIn(uint32_t p, const UsesIn& in) const;
  // Whether a concatenation of many lines can make it line by line, which are narrower than vectors.
  bool fitsLines(uint32_t p, uint32_t g) const;
  const AccessMap& mapOf(uint32_t p, uint32_t g) const { return inner_maps_.at(key(p, g)); }
  bool isIn(uint32_t p, uint32_t g) const { return inner_maps_.contains(key(p, g)); }
  // Whether a loop reads more arrays of its own size so far that it may still make itself.
  bool awaitsMoreThan(size_t count, uint32_t g) const;
  bool isMadeAt(uint32_t p, ir::Value v) const { return m_.value(v).def == region_.ops[p]; }

  // Groups in the order of their last member: each then follows all it reads.
  std::vector<kernel::Unit> units();

 private:
  static uint64_t key(uint32_t p, uint32_t g) { return uint64_t{g} << 32 | p; }
  const ir::Op& op(uint32_t p) const { return m_.op(region_.ops[p]); }
  void addMember(uint32_t p, uint32_t g, AccessMap map);
  bool isJoinedOnce(const ir::Op& user, const Group& group) const;
  bool isTakenByBranches(const ir::Op& user, size_t operand, const Group& group) const;
  kernel::Unit unit(uint32_t g);
  kernel::Nest nestOf(const Group& group) const;
  bool usedOutside(uint32_t p, uint32_t g) const;
  void collectInputs(kernel::Cluster& cluster) const;

  const ir::Module& m_;
  const ir::Region& region_;
  const RegionUses uses_;
  std::vector<uint32_t> owner_;
  std::vector<double> path_;  // from an op to the end of the group that has it
  std::vector<std::vector<uint32_t>> copies_;  // groups that have one of a duplicable op
  std::vector<Group> groups_;
  std::unordered_map<uint64_t, AccessMap> inner_maps_;
  std::vector<std::pair<uint32_t, size_t>> seen_;  // by group: usesByGroup's last op, its place
};

}  // namespace tercel::plan
