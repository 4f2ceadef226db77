// Who reads what in one region, by the ops' positions there. What a nested region reads counts as
// read by the op that holds it.
#pragma once
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::plan {

class RegionUses {
 public:
  RegionUses(const ir::Module& module, ir::RegionId region);

  // Of the op that makes the value; none for values from outside and arguments.
  std::optional<uint32_t> positionOf(ir::Value v) const;
  // Ascending, each once.
  const std::vector<uint32_t>& users(uint32_t position) const { return users_[position]; }
  // The same of a value from outside, or an argument.
  const std::vector<uint32_t>& readers(ir::Value v) const;
  // Whether an op or the region's end reads it, of several results of an op.
  bool isRead(ir::Value v) const;
  // Whether it is a result of the region.
  bool escapes(uint32_t position) const { return escapes_[position]; }

 private:
  void note(const ir::Op& user, uint32_t position);
  void note(ir::Value v, uint32_t position);
  void noteRead(ir::Value v);

  const ir::Module& m_;
  std::unordered_map<uint32_t, uint32_t> position_;  // by value
  std::vector<std::vector<uint32_t>> users_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> readers_;  // by value
  std::unordered_set<uint32_t> read_;  // of ops with several results
  std::vector<bool> escapes_;
};

}  // namespace tercel::plan
