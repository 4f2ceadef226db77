// select(p, changed, x), where `changed` is x written to at some places: the places are written to
// where p holds, and x is neither copied nor passed over. jnp.where(p, x.at[i].set(v), x) says so.
// Of an array that is filled before it is changed, what is selected is filled in.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewestSelected = 64;  // less is selected in registers
constexpr size_t kMostChanges = 8;

bool isChange(const Op& op) {
  return op.kind == OpKind::dynamic_update_slice_ ||
         (op.kind == OpKind::scatter_ && op.operands.size() == 3);
}

// v and what it was before each of its changes, which are read by nothing else; the last of them
// may be.
std::vector<Value> statesOf(const Rewriter& rw, Value v) {
  std::vector<Value> states{v};
  for (uint32_t readers = 0; states.size() <= kMostChanges; readers = 1) {
    const Op* op = rw.def(states.back());
    if (!op || !isChange(*op) || rw.otherUses(states.back()) > readers) break;
    states.push_back(op->operand(0));
  }
  return states;
}

// An array that has to be written before it is changed.
bool isFilled(const Rewriter& rw, Value v) {
  return splatOf(rw, v) || rw.def(v, OpKind::broadcast_in_dim_);
}

// A predicate that is `value` along some dimensions of an array and does not vary along the others.
struct Predicate {
  Value value;
  Ints dimensions;
};

class SelectInPlace {
 public:
  SelectInPlace(Rewriter& rw, Predicate where) : rw_(rw), where_(std::move(where)) {}

  bool suits(Value changed) const {
    const Op& op = *rw_.def(changed);
    if (op.kind == OpKind::scatter_) return choosesPlaces(op) || choosesUpdates(op);
    const Dims &all = rw_.shape(changed).dims, &part = rw_.shape(op.operand(1)).dims;
    return std::ranges::all_of(where_.dimensions, [&](int64_t d) { return part[d] == all[d]; });
  }

  // The same change of another state, where the predicate holds (or where not).
  Value change(Value to, Value changed, bool where_not) {
    const Op op = *rw_.def(changed);
    return op.kind == OpKind::scatter_ ? scatter(to, op, where_not) : update(to, op, where_not);
  }

 private:
  Value chosen(const Ints& dimensions, Value yes, Value no, bool turned) {
    const Value pred = rw_.broadcast(where_.value, rw_.shape(yes).dims, dimensions);
    return turned ? rw_.select(pred, no, yes) : rw_.select(pred, yes, no);
  }

  Value update(Value to, const Op& op, bool where_not) {
    const std::span starts = std::span(op.operands).subspan(2);
    const Value part = op.operand(1);
    const Value before = rw_.dynamicSlice(to, starts, rw_.shape(part).dims);
    return rw_.dynamicUpdateSlice(to, chosen(where_.dimensions, part, before, where_not), starts);
  }

  // It varies from batch to batch only.
  bool choosesPlaces(const Op& op) const {
    const DType index = rw_.shape(op.operand(1)).dtype;
    if (!isInteger(index) || isUnsigned(index)) return false;
    if (op.ints(AttrKey::scatter_dims_to_operand_dims).empty()) return false;  // all one place
    return std::ranges::all_of(where_.dimensions, [&](int64_t d) {
      return contains(op.ints(AttrKey::input_batching_dims), d);
    });
  }

  // It varies within windows only, along dimensions that they have whole.
  bool choosesUpdates(const Op& op) const {
    constexpr int64_t kSmallestPart = 2;
    const Region& body = rw_.module().region(op.regions[0]);
    const Shape &all = rw_.shape(op.operand(0)), &updates = rw_.shape(op.operand(2));
    if (body.results[0] != body.args[1] || updates.elements() * kSmallestPart > all.elements())
      return false;
    const Ints in_updates = windowDimensions(op);
    return std::ranges::all_of(where_.dimensions, [&](int64_t d) {
      return in_updates[d] >= 0 && updates.dims[in_updates[d]] == all.dims[d];
    });
  }

  // By dimension of the operand: where windows have it in the updates; -1: nowhere.
  Ints windowDimensions(const Op& op) const {
    Ints where;
    size_t next = 0;
    for (int64_t d = 0; d < rw_.shape(op.operand(0)).rank(); ++d) {
      const bool is_line = contains(op.ints(AttrKey::inserted_window_dims), d) ||
                           contains(op.ints(AttrKey::input_batching_dims), d);
      where.push_back(is_line ? -1 : op.ints(AttrKey::update_window_dims)[next++]);
    }
    return where;
  }

  Value scatter(Value to, const Op& op, bool where_not) {
    const bool by_place = choosesPlaces(op);
    const Value places = by_place ? chosenPlaces(op, where_not) : op.operand(1);
    const Value updates = by_place ? op.operand(2) : chosenUpdates(to, op, where_not);
    const bool stays_sorted = !by_place || where_.dimensions.empty();
    return scatterAgain(rw_, op, {to, places, updates}, stays_sorted);
  }

  // What is scattered to no place is dropped.
  Value chosenPlaces(const Op& op, bool where_not) {
    const Ints& along = op.ints(AttrKey::input_batching_dims);
    Ints dimensions;
    for (int64_t d : where_.dimensions)
      dimensions.push_back(op.ints(AttrKey::scatter_indices_batching_dims)[static_cast<size_t>(
          std::ranges::find(along, d) - along.begin())]);
    const Value places = op.operand(1);
    return chosen(dimensions, places, rw_.like(places, -1), where_not);
  }

  // Lines that are not to change are written as they are.
  Value chosenUpdates(Value to, const Op& op, bool where_not) {
    const Shape& updates = rw_.shape(op.operand(2));
    const Ints in_updates = windowDimensions(op);
    Ints sizes, dimensions;
    for (int64_t d : in_updates) sizes.push_back(d < 0 ? 1 : updates.dims[d]);
    for (int64_t d : where_.dimensions) dimensions.push_back(in_updates[d]);
    const Value before = rw_.emit(
        OpKind::gather_, {to, op.operand(1)}, updates,
        {{AttrKey::offset_dims, op.ints(AttrKey::update_window_dims)},
         {AttrKey::collapsed_slice_dims, op.ints(AttrKey::inserted_window_dims)},
         {AttrKey::operand_batching_dims, op.ints(AttrKey::input_batching_dims)},
         {AttrKey::start_indices_batching_dims, op.ints(AttrKey::scatter_indices_batching_dims)},
         {AttrKey::start_index_map, op.ints(AttrKey::scatter_dims_to_operand_dims)},
         {AttrKey::index_vector_dim, op.integer(AttrKey::index_vector_dim)},
         {AttrKey::slice_sizes, sizes}});
    return chosen(dimensions, op.operand(2), before, where_not);
  }

  Rewriter& rw_;
  Predicate where_;
};

}  // namespace

Value selectInPlace(Rewriter& rw, const Op& select) {
  if (rw.shape(select.result()).bytes() < kFewestSelected) return {};
  Predicate where{select.operand(0), {}};
  if (rw.shape(where.value).rank() > 0) {
    const Op* broadcast = rw.def(where.value, OpKind::broadcast_in_dim_);
    if (!broadcast) return {};
    where = {broadcast->operand(0), broadcast->ints(AttrKey::broadcast_dimensions)};
  }
  const std::vector<Value> yes = statesOf(rw, select.operand(1));
  const std::vector<Value> no = statesOf(rw, select.operand(2));
  const auto shared = std::ranges::find_first_of(yes, no);
  const auto first = shared != yes.end() ? shared : yes.end() - 1;
  const auto first_other = shared != yes.end() ? std::ranges::find(no, *shared) : no.end() - 1;
  const std::span changes(yes.begin(), first), other(no.begin(), first_other);
  if (changes.empty() && other.empty()) return {};
  SelectInPlace in_place(rw, std::move(where));
  auto suits = [&](Value v) { return in_place.suits(v); };
  if (!std::ranges::all_of(changes, suits) || !std::ranges::all_of(other, suits)) return {};
  if (*first != *first_other && !isFilled(rw, *first) && !isFilled(rw, *first_other)) return {};
  Value now = rw.select(select.operand(0), *first, *first_other);
  for (size_t i = changes.size(); i-- > 0;) now = in_place.change(now, changes[i], false);
  for (size_t i = other.size(); i-- > 0;) now = in_place.change(now, other[i], true);
  return now;
}

}  // namespace tercel::passes
