// Into the regions of loops and branches: the constants, iotas and spread out single numbers that
// they use from outside. Clusters make these for themselves; captured, they would be memory, which
// each turn of a loop reads.
#include <unordered_map>

#include "compiler/passes/effects.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

class Sinker {
 public:
  explicit Sinker(Module& module) : module_(module), region_of_(module.valueCount()) {}

  bool run() {
    for (size_t i = 0; i < module_.functions.size(); ++i) walk(module_.functions[i].body, false);
    return changed_;
  }

 private:
  void walk(RegionId id, bool code) {
    for (OpId op : module_.region(id).ops)
      for (Value v : module_.op(op).results) region_of_[v.index] = id;
    const std::vector<OpId> ops = module_.region(id).ops;
    std::vector<OpId> copies;
    copies_.clear();
    for (OpId op : ops)
      for (size_t i = 0; code && i < module_.op(op).operands.size(); ++i)
        if (Value v = module_.op(op).operand(i); mayBeMade(v, id))
          module_.op(op).operands[i] = copyOf(v, id, copies);
    changed_ |= !copies.empty();
    std::vector<OpId>& all = module_.region(id).ops;
    all.insert(all.begin(), copies.begin(), copies.end());
    for (OpId op : ops)
      for (size_t r = 0; r < module_.op(op).regions.size(); ++r)
        walk(module_.op(op).regions[r], !actsOnElements(module_.op(op).kind));
  }

  bool isOutside(Value v, RegionId id) const {
    return v.index < region_of_.size() && !(region_of_[v.index] == id);
  }

  // From outside of the region, by an op whose work is nothing.
  bool mayBeMade(Value v, RegionId id) const {
    const Op* op = module_.def(v);
    if (!op || !isOutside(v, id)) return false;
    switch (op->kind) {
      case OpKind::constant_: return op->literal().isSplat();
      case OpKind::iota_: return true;
      case OpKind::broadcast_in_dim_: return module_.shape(op->operand(0)).elements() == 1;
      default: return false;
    }
  }

  Value copyOf(Value v, RegionId id, std::vector<OpId>& copies) {
    auto [at, fresh] = copies_.try_emplace(v.index, v);
    if (!fresh) return at->second;
    Values operands = module_.def(v)->operands;
    for (Value& operand : operands)
      if (mayBeMade(operand, id)) operand = copyOf(operand, id, copies);
    const OpId copy = copyOn(module_, v, std::move(operands));
    copies.push_back(copy);
    return copies_.at(v.index) = module_.op(copy).result();
  }

  Module& module_;
  std::vector<RegionId> region_of_;  // by value, those that ops make
  std::unordered_map<uint32_t, Value> copies_;  // in the region at hand, by what they are of
  bool changed_ = false;
};

}  // namespace

PassResult sinkConstants(Module& module) { return Sinker(module).run(); }

}  // namespace tercel::passes
