#include "compiler/ir/parallel_loop.h"

#include <algorithm>
#include <span>

namespace tercel::ir {
namespace {

std::optional<int64_t> knownInteger(const Module& m, Value v) {
  const Op* op = m.def(v);
  const bool is_integer = m.shape(v).rank() == 0 && isInteger(m.shape(v).dtype);
  if (!op || op->kind != OpKind::constant_ || !is_integer) return {};
  return static_cast<int64_t>(op->literal().number(0));
}

// The uses of one array that a loop carries, from the argument of its body to the body's result.
class Lines {
 public:
  Lines(const Module& m, Value counter, int64_t step) : m_(m), counter_(counter), step_(step) {}

  // Whether `region` makes its result i of its argument i by such reads and writes alone.
  bool areAllOf(RegionId id, size_t i) {
    const Region& region = m_.region(id);
    Value now = region.args[i];
    for (OpId o : region.ops) {
      const Op& op = m_.op(o);
      if (!usesOnce(op, now)) return false;
      if (!std::ranges::count(op.operands, now) && !reads(op, now)) continue;
      if (op.kind == OpKind::dynamic_slice_) {
        if (!isWithin(op, 1, op.ints(AttrKey::slice_sizes))) return false;
      } else if (op.kind == OpKind::dynamic_update_slice_) {
        if (op.operand(0) != now || !isWithin(op, 2, m_.shape(op.operand(1)).dims)) return false;
        now = op.result();
      } else if (op.kind == OpKind::while_) {
        const auto at = std::ranges::find(op.operands, now);
        const auto k = static_cast<size_t>(at - op.operands.begin());
        if (k == op.operands.size() || reads(op, now) || !isUnread(op.regions[0], k) ||
            !areAllOf(op.regions[1], k))
          return false;
        now = op.result(k);
      } else {
        return false;
      }
    }
    return region.results[i] == now && std::ranges::count(region.results, now) == 1;
  }
  // That they start in; -1 where there are none.
  int64_t dimension() const { return dimension_; }

 private:
  static bool usesOnce(const Op& op, Value v) { return std::ranges::count(op.operands, v) <= 1; }

  // Whether an op's regions use a value from outside of them.
  bool reads(const Op& op, Value v) const {
    return std::ranges::any_of(op.regions, [&](RegionId id) {
      const Region& region = m_.region(id);
      return std::ranges::count(region.results, v) > 0 ||
             std::ranges::any_of(region.ops, [&](OpId o) {
               return std::ranges::count(m_.op(o).operands, v) > 0 || reads(m_.op(o), v);
             });
    });
  }

  bool isUnread(RegionId id, size_t i) const {
    const Region& region = m_.region(id);
    const Value v = region.args[i];
    return std::ranges::none_of(region.ops, [&](OpId o) {
      return std::ranges::count(m_.op(o).operands, v) > 0 || reads(m_.op(o), v);
    });
  }

  // One dimension for all of them, in which they start at the count and go no further than a step.
  bool isWithin(const Op& op, size_t first_start, std::span<const int64_t> sizes) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (op.operand(first_start + d) != counter_ || sizes[d] > step_) continue;
      if (dimension_ >= 0 && dimension_ != static_cast<int64_t>(d)) continue;
      dimension_ = static_cast<int64_t>(d);
      return true;
    }
    return false;
  }

  const Module& m_;
  const Value counter_;
  const int64_t step_;
  int64_t dimension_ = -1;
};

// By ops of the region, of those inside of it, and by its results.
int64_t usesOf(const Module& m, RegionId id, Value v) {
  const Region& region = m.region(id);
  int64_t uses = std::ranges::count(region.results, v);
  for (OpId o : region.ops) {
    uses += std::ranges::count(m.op(o).operands, v);
    for (RegionId inside : m.op(o).regions) uses += usesOf(m, inside, v);
  }
  return uses;
}

}  // namespace

std::optional<Counting> counting(const Module& m, const Op& loop) {
  const Region &condition = m.region(loop.regions[0]), &body = m.region(loop.regions[1]);
  const Op* test = m.def(condition.results[0]);
  if (!test || test->kind != OpKind::compare_ ||
      test->symbol(AttrKey::comparison_direction) != "LT")
    return {};
  const auto at = std::ranges::find(condition.args, test->operand(0));
  if (at == condition.args.end()) return {};
  const auto counter = static_cast<size_t>(at - condition.args.begin());
  const Op* next = m.def(body.results[counter]);
  if (!next || next->kind != OpKind::add_) return {};
  const bool is_first = next->operand(0) == body.args[counter];
  if (!is_first && next->operand(1) != body.args[counter]) return {};
  const Value step = next->operand(is_first ? 1 : 0);
  return Counting{counter, loop.operand(counter), test->operand(1), step};
}

std::optional<CountedLoop> countedLoop(const Module& m, const Op& op) {
  const auto found = op.kind == OpKind::while_ ? counting(m, op) : std::nullopt;
  if (!found) return {};
  const auto first = knownInteger(m, found->first), limit = knownInteger(m, found->limit);
  const auto step = knownInteger(m, found->step);
  if (!first || !limit || !step || *first < 0 || *step <= 0 || *limit <= *first) return {};
  return CountedLoop{found->counter, *first, *step, (*limit - *first + *step - 1) / *step};
}

bool isParallel(const Module& m, const Op& loop) {
  if (loop.kind != OpKind::while_ || !loop.find(AttrKey::parallel_turns)) return false;
  const auto count = countedLoop(m, loop);
  if (!count || count->counter != 0 || count->first != 0 || count->step != 1) return false;
  if (count->turns != loop.integer(AttrKey::parallel_turns)) return false;
  const DType dtype = m.shape(loop.operand(0)).dtype;
  if (dtype != DType::s32 && dtype != DType::s64) return false;
  const Region& body = m.region(loop.regions[1]);
  for (size_t i = 1; i < body.args.size(); ++i) {
    const Op* update = m.def(body.results[i]);
    const bool writes = update && update->kind == OpKind::dynamic_update_slice_ &&
                        update->operand(0) == body.args[i];
    if (!writes || usesOf(m, loop.regions[1], body.args[i]) != 1 ||
        usesOf(m, loop.regions[1], body.results[i]) != 1)
      return false;
  }
  return true;
}

std::optional<CountedLoop> parallelLoop(const Module& m, const Op& op) {
  const auto loop = countedLoop(m, op);
  if (!loop) return {};
  const Region& body = m.region(op.regions[1]);
  const int64_t last = loop->first + loop->step * loop->turns;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Shape& shape = m.shape(op.operand(i));
    if (i == loop->counter) continue;
    if (shape.elements() == 1 && body.results[i] == body.args[i]) continue;
    if (m.type(op.operand(i)).is_token || shape.elements() <= 1) return {};
    Lines lines(m, body.args[loop->counter], loop->step);
    if (!lines.areAllOf(op.regions[1], i)) return {};
    // What starts too late to fit starts earlier, at lines of the turn before.
    const int64_t d = lines.dimension();
    if (d >= 0 && last > shape.dims[static_cast<size_t>(d)]) return {};
  }
  return loop;
}

}  // namespace tercel::ir
