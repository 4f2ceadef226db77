// A scoped hash table of the ops seen: an op equal to one before it, in its region or one around
// it, is replaced by that one. Regions that act on single elements (a reducer, a comparator) see
// only themselves, so that they stay whole functions of their arguments.
#include <algorithm>
#include <bit>

#include "compiler/passes/effects.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"
#include "compiler/passes/structure.h"

namespace tercel::passes {
using namespace ir;
namespace {

class Cse : public Rewriter {
 public:
  explicit Cse(Module& module)
      : Rewriter(module), equality_(module), heads_(std::bit_ceil(2 * module.opCount() + 16), -1) {}

 protected:
  void enterRegion(RegionId, OpId owner) override {
    bool closed = owner.valid() && actsOnElements(op(owner).kind);
    scopes_.push_back({entries_.size(), closed ? entries_.size() : firstVisible()});
  }

  void leaveRegion(RegionId, OpId) override {
    for (; entries_.size() > scopes_.back().begin; entries_.pop_back())
      heads_[bucket(entries_.back().hash)] = entries_.back().next;
    scopes_.pop_back();
  }

  bool visit(OpId id) override {
    const Op& op = this->op(id);
    if (!isRepeatable(op) || op.results.empty()) return false;
    uint64_t hash = keyOf(op);
    int32_t first = static_cast<int32_t>(firstVisible());
    for (int32_t e = heads_[bucket(hash)]; e >= first; e = entries_[e].next) {
      const Op& seen = this->op(entries_[e].op);
      if (entries_[e].hash != hash || !sameOperands(seen, op)) continue;
      if (!equality_.sameExceptOperands(seen, op)) continue;
      replaceAll(op, seen.results);
      return true;
    }
    entries_.push_back({hash, id, heads_[bucket(hash)]});
    heads_[bucket(hash)] = static_cast<int32_t>(entries_.size() - 1);
    return false;
  }

 private:
  struct Entry {
    uint64_t hash;
    OpId op;
    int32_t next;  // in its bucket
  };

  struct Scope {
    size_t begin;          // entries_.size() when the region was entered
    size_t first_visible;  // entries before this one are out of its sight
  };

  uint64_t keyOf(const Op& op) {
    uint64_t h = structuralHash(module(), op);
    if (commutes(op.kind)) {
      uint32_t a = op.operand(0).index, b = op.operand(1).index;
      return combine(combine(h, std::min(a, b)), std::max(a, b));
    }
    for (Value v : op.operands) h = combine(h, v.index);
    return h;
  }

  static bool sameOperands(const Op& a, const Op& b) {
    if (a.operands == b.operands) return true;
    return commutes(a.kind) && a.kind == b.kind && a.operand(0) == b.operand(1) &&
           a.operand(1) == b.operand(0);
  }

  size_t firstVisible() const { return scopes_.empty() ? 0 : scopes_.back().first_visible; }
  size_t bucket(uint64_t hash) const { return hash & (heads_.size() - 1); }

  StructuralEquality equality_;
  std::vector<int32_t> heads_;  // entry by bucket, -1: none
  std::vector<Entry> entries_;
  std::vector<Scope> scopes_;
};

}  // namespace

PassResult cse(Module& module) { return Cse(module).run(); }

}  // namespace tercel::passes
