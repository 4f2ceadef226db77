// What takes long, and a cluster would do again at several places or without vectors: it is made
// before that, and read from memory.
#pragma once
#include "compiler/plan/groups.h"

namespace tercel::plan {

class MadeBefore {
 public:
  MadeBefore(const ir::Module& module, ir::RegionId region, const RegionUses& uses)
      : m_(module), region_(module.region(region)), uses_(uses) {}

  // The op at position p, whose result the group would read so.
  bool isBetter(uint32_t p, const Group& group, const AccessMap& map) const {
    return bringsMuch(p, map) || isBetterInVectors(p, group, map) ||
           isGatheredForLines(p, group, map) || isGatheredInRows(p, group, map);
  }

 private:
  const ir::Op& op(uint32_t p) const { return m_.op(region_.ops[p]); }
  double timeWeight(const ir::Op& o) const;
  double timeBehind(uint32_t p, double most) const;
  bool bringsMuch(uint32_t p, const AccessMap& map) const;
  bool isBetterInVectors(uint32_t p, const Group& group, const AccessMap& map) const;
  bool isGatheredForLines(uint32_t p, const Group& group, const AccessMap& map) const;
  bool gathersElements(const ir::Op& o) const;
  size_t gathersBehind(ir::Value v) const;
  bool isGatheredInRows(uint32_t p, const Group& group, const AccessMap& map) const;

  const ir::Module& m_;
  const ir::Region& region_;
  const RegionUses& uses_;
};

}  // namespace tercel::plan
