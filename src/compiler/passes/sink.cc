// Into the regions of loops and branches: the constants, iotas and spread out single numbers that
// they use from outside. Clusters make these for themselves; captured, they would be memory, which
// each turn of a loop reads. A constant that several ops write over is made for each, not copied.
#include <unordered_map>
#include <unordered_set>

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
    const Values results = module_.region(id).results;
    for (size_t i = 0; code && i < results.size(); ++i)
      if (mayBeMade(results[i], id)) module_.region(id).results[i] = copyOf(results[i], id, copies);
    for (OpId op : ops)
      for (size_t i = 0; i < overwritten(module_.op(op)); ++i)
        if (Value v = module_.op(op).operand(i); isLargeSplat(v) && !written_.insert(v.index).second)
          module_.op(op).operands[i] = anotherOf(v, copies);
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

  // How many of its operands, the first ones, an op may write over.
  static size_t overwritten(const Op& op) {
    switch (op.kind) {
      case OpKind::while_: return op.operands.size();
      case OpKind::scatter_: return op.results.size();
      case OpKind::dynamic_update_slice_: return 1;
      default: return 0;
    }
  }

  bool isLargeSplat(Value v) const {
    constexpr int64_t kFewestBytes = 4096;
    const Op* op = module_.def(v);
    return op && op->kind == OpKind::constant_ && op->literal().isSplat() &&
           module_.shape(v).bytes() >= kFewestBytes;
  }

  Value anotherOf(Value v, std::vector<OpId>& copies) {
    copies.push_back(copyOn(module_, v, {}));
    return module_.op(copies.back()).result();
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
  std::unordered_set<uint32_t> written_;        // constants that an op writes over
  bool changed_ = false;
};

}  // namespace

PassResult sinkConstants(Module& module) { return Sinker(module).run(); }

}  // namespace tercel::passes
