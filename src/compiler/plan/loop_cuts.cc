#include "compiler/plan/loop_cuts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/plan/captures.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Cut;
using ir::Op;
using ir::OpKind;
using ir::Value;

// What is known so far, and of which arguments the consequences are still to be followed.
struct Found {
  std::vector<Carried> carried;
  std::vector<size_t> ahead;
  std::set<std::pair<uint32_t, Cut>> needed;
};

// Follows the results of a loop's body back to what it carries.
class CutSearch {
 public:
  CutSearch(const ir::Module& m, const Op& loop)
      : m_(m), loop_(loop), body_(m.region(loop.regions[1])) {
    found_.carried.resize(body_.args.size());
    for (size_t i = 0; i < body_.args.size(); ++i) argument_[body_.args[i].index] = i;
    for (ir::OpId id : body_.ops)
      for (Value v : m.op(id).results) inside_.insert(v.index);
  }

  std::optional<LoopCuts> run(size_t seed, int64_t dimension) {
    const auto& dims = m_.shape(loop_.operand(seed)).dims;
    rows_ = dims[static_cast<size_t>(dimension)];
    if (!take(seed, {dimension, 1})) return {};
    for (size_t i = 0; i < found_.carried.size(); ++i)
      if (!found_.carried[i].is_known && !guess(i)) return {};
    const auto count = countType();
    if (!count || readsCut(m_.region(loop_.regions[0]))) return {};
    if (hasEffects() || !isMostlyCut()) return {};
    return LoopCuts{found_.carried, rows_, *count};
  }

 private:
  // The one type of all places.
  std::optional<DType> countType() const {
    std::optional<DType> type;
    for (ir::OpId id : body_.ops) {
      const Op& op = m_.op(id);
      const bool slices = op.kind == OpKind::dynamic_slice_;
      if (!slices && op.kind != OpKind::dynamic_update_slice_) continue;
      for (size_t k = slices ? 1 : 2; k < op.operands.size(); ++k) {
        const DType own = m_.shape(op.operand(k)).dtype;
        if ((own != DType::s32 && own != DType::s64) || type.value_or(own) != own) return {};
        type = own;
      }
    }
    return type.value_or(DType::s32);
  }

  bool readsCut(const ir::Region& condition) const {
    for (ir::OpId id : condition.ops)
      for (Value v : m_.op(id).operands)
        for (size_t i = 0; i < condition.args.size(); ++i)
          if (v == condition.args[i] && !found_.carried[i].cut.isWhole()) return true;
    return false;
  }

  bool hasEffects() const {
    return std::ranges::any_of(loop_.regions, [&](ir::RegionId region) {
      return std::ranges::any_of(m_.region(region).ops,
                                 [&](ir::OpId id) {
                                   const Op& op = m_.op(id);
                                   return isCallOrControl(op) || !captures(m_, op).empty();
                                 });
    });
  }

  // What is made whole, every slice makes.
  bool isMostlyCut() const {
    constexpr double kMostSlices = 8;
    double whole = 0, cut = 0;
    for (const auto& [value, part] : found_.needed) {
      const Op& op = *m_.def(Value{value});
      double work = static_cast<double>(m_.shape(op.result()).elements());
      if (work <= 1 || op.operands.empty() || isFreeMovement(op.kind)) continue;
      if (op.kind == OpKind::reduce_)
        work = static_cast<double>(m_.shape(op.operand(0)).elements());
      if (op.kind == OpKind::dot_general_) work = productsOf(m_, op);
      (part.isWhole() ? whole : cut) += work;
    }
    return kMostSlices * whole <= cut;
  }

  bool is(size_t i, Cut cut) {
    Carried& carried = found_.carried[i];
    if (carried.is_known) return carried.cut == cut && !carried.is_stack;
    carried.cut = cut;
    carried.is_known = true;
    found_.ahead.push_back(i);
    return cut.isWhole() || cut.unit == 1;
  }

  // The results of the body for all that is known of its arguments.
  bool follow() {
    while (!found_.ahead.empty()) {
      const size_t i = found_.ahead.back();
      found_.ahead.pop_back();
      if (!need(body_.results[i], found_.carried[i].cut)) return false;
    }
    return true;
  }

  // What nothing else has told the cut of.
  bool guess(size_t i) {
    const Dims& dims = m_.shape(loop_.operand(i)).dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d] == rows_ && take(i, {static_cast<int64_t>(d), 1})) return true;
    return is(i, {}) && follow();
  }

  // As a stack, or else as an array of rows.
  bool take(size_t i, Cut cut) {
    const Found before = found_;
    if (stacks(i, cut) && follow()) return true;
    found_ = before;
    if (is(i, cut) && follow()) return true;
    found_ = before;
    return false;
  }

  // The update in place of an argument that nothing else reads.
  bool stacks(size_t i, Cut cut) {
    const Op* update = m_.def(body_.results[i]);
    if (!update || update->kind != OpKind::dynamic_update_slice_ ||
        update->operand(0) != body_.args[i] || uses(body_.args[i]) != 1 ||
        uses(body_.results[i]) != 1)
      return false;
    const auto d = static_cast<size_t>(cut.dimension);
    if (m_.shape(update->operand(1)).dims[d] != rows_) return false;
    for (size_t k = 2; k < update->operands.size(); ++k)
      if (!need(update->operand(k), {})) return false;
    found_.carried[i] = {cut, true, true};
    return need(update->operand(1), cut);
  }

  int64_t uses(Value v) const {
    int64_t count = std::ranges::count(body_.results, v);
    for (ir::OpId id : body_.ops) count += std::ranges::count(m_.op(id).operands, v);
    return count;
  }

  bool need(Value v, Cut cut) {
    if (auto at = argument_.find(v.index); at != argument_.end()) return is(at->second, cut);
    if (!inside_.contains(v.index)) return true;  // from outside: as it is wanted
    if (!found_.needed.emplace(v.index, cut).second) return true;
    const Op& op = *m_.def(v);
    if (op.results.size() != 1 && op.kind != OpKind::reduce_) return false;
    if (m_.type(v).is_token) return false;
    if (!op.regions.empty() && (op.kind != OpKind::reduce_ || !captures(m_, op).empty()))
      return false;
    if (cut.isWhole() || op.operands.empty())
      return needAll(op, std::vector<Cut>(op.operands.size()));
    const auto cuts = operandCuts(m_, op, cut);
    return cuts && needAll(op, *cuts);
  }

  bool needAll(const Op& op, const std::vector<Cut>& cuts) {
    for (size_t i = 0; i < cuts.size(); ++i)
      if (!need(op.operand(i), cuts[i])) return false;
    return true;
  }

  const ir::Module& m_;
  const Op& loop_;
  const ir::Region& body_;
  int64_t rows_ = 0;
  std::unordered_map<uint32_t, size_t> argument_;
  std::unordered_set<uint32_t> inside_;
  Found found_;
};

}  // namespace

std::optional<LoopCuts> findLoopCuts(const ir::Module& m, const Op& loop, size_t seed,
                                     int64_t dimension) {
  return CutSearch(m, loop).run(seed, dimension);
}

}  // namespace tercel::plan
