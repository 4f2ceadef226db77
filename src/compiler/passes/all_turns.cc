#include "compiler/passes/all_turns.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "compiler/ir/clone.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/element_range.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kMostGathered = 8;  // elements, from a place that is another on each turn

Ints shifted(Ints dimensions) {
  for (int64_t& d : dimensions) ++d;
  return dimensions;
}

Ints behind(int64_t first, Ints rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

// Of an op on all turns, which are the first of its dimensions.
Attrs attrsOfAll(Attrs attrs, int64_t turns) {
  for (auto& [key, attr] : attrs) {
    switch (key) {
      case AttrKey::broadcast_dimensions:
      case AttrKey::permutation: attr = behind(0, shifted(std::get<Ints>(attr))); break;
      case AttrKey::dimensions: attr = shifted(std::get<Ints>(attr)); break;
      case AttrKey::dimension: attr = std::get<int64_t>(attr) + 1; break;
      case AttrKey::start_indices: attr = behind(0, std::get<Ints>(attr)); break;
      case AttrKey::limit_indices: attr = behind(turns, std::get<Ints>(attr)); break;
      case AttrKey::strides: attr = behind(1, std::get<Ints>(attr)); break;
      default: break;
    }
  }
  return attrs;
}

}  // namespace

TurnDependence::TurnDependence(const Module& module, const Op& loop, const CountedLoop& counted)
    : m_(module), counted_(counted),
      counter_(module.region(loop.regions[1]).args[counted.counter]) {
  const Region& body = m_.region(loop.regions[1]);
  for (Value arg : body.args) body_[arg.index] = Dependence::state;
  body_[counter_.index] = Dependence::turn;
  if (const Counted count{counted_.first, counted_.step}; fits(counter_, count))
    numbers_[counter_.index] = count;
  for (OpId id : body.ops) {
    const Op& op = m_.op(id);
    if (const auto number = countedAs(op)) numbers_[op.result().index] = *number;
    Dependence on = Dependence::nothing;
    for (Value v : op.operands) on = std::max(on, of(v));
    const bool is_known = on == Dependence::nothing
                              ? op.results.size() == 1 && op.regions.empty() && isPure(op)
                              : isUniform(op);
    if (!is_known) on = Dependence::state;
    for (Value v : op.results) body_[v.index] = on;
  }
}

Dependence TurnDependence::of(Value v) const {
  const auto at = body_.find(v.index);
  return at == body_.end() ? Dependence::nothing : at->second;
}

bool TurnDependence::isUniform(const Op& op) const {
  if (op.results.size() != 1 || !op.regions.empty()) return false;
  switch (op.kind) {
    case OpKind::bitcast_convert_:
      return m_.shape(op.operand(0)).dims == m_.shape(op.result()).dims;
    case OpKind::broadcast_in_dim_:
    case OpKind::concatenate_:
    case OpKind::reshape_:
    case OpKind::reverse_:
    case OpKind::slice_:
    case OpKind::transpose_:
      return true;
    case OpKind::dynamic_slice_:
      if (of(op.operand(0)) != Dependence::nothing) return false;
      return m_.shape(op.result()).elements() <= kMostGathered || readsLines(op);
    default:
      return isElementwise(op.kind) && op.kind != OpKind::map_;
  }
}

bool TurnDependence::readsLines(const Op& slice) const {
  const Dims &from = m_.shape(slice.operand(0)).dims, &sizes = m_.shape(slice.result()).dims;
  const auto line = from.empty() ? std::nullopt : countedBy(slice.operand(1));
  if (!line || line->step == 0 || sizes[0] != 1) return false;
  const auto [low, high] = std::minmax({line->at(0), line->at(turns() - 1)});
  return low >= 0 && high < from[0] && std::equal(sizes.begin() + 1, sizes.end(), from.begin() + 1);
}

bool TurnDependence::fits(Value v, const Counted& c) const {
  constexpr int64_t kMostFirst = int64_t{1} << 53, kMostStep = int64_t{1} << 32;
  const DType type = m_.shape(v).dtype;
  if (!hasRange(type) || m_.shape(v).rank() != 0 || turns() > kMostStep / 4) return false;
  if (std::abs(c.first) > kMostFirst || std::abs(c.step) > kMostStep) return false;
  const Range range = rangeOfType(type);
  const auto [low, high] = std::minmax({c.at(0), c.at(turns() - 1)});
  return low >= range.low && high <= range.high;
}

std::optional<Counted> TurnDependence::countedBy(Value v) const {
  if (const auto at = numbers_.find(v.index); at != numbers_.end()) return at->second;
  const Op* op = m_.def(v);
  return op && op->kind == OpKind::constant_ ? countedAs(*op) : std::nullopt;
}

// The number that an op of the body makes of such numbers, or a constant.
std::optional<Counted> TurnDependence::countedAs(const Op& op) const {
  constexpr double kExact = 0x1p52;
  std::optional<Counted> c;
  if (op.kind == OpKind::constant_) {
    const Shape& shape = m_.shape(op.result());
    if (shape.rank() == 0 && hasRange(shape.dtype) && std::abs(op.literal().number(0)) <= kExact)
      c = Counted{static_cast<int64_t>(op.literal().number(0)), 0};
  } else if (op.kind == OpKind::convert_) {
    c = countedBy(op.operand(0));
  } else if (op.kind == OpKind::add_ || op.kind == OpKind::subtract_) {
    const auto a = countedBy(op.operand(0)), b = countedBy(op.operand(1));
    const int64_t sign = op.kind == OpKind::add_ ? 1 : -1;
    if (a && b) c = Counted{a->first + sign * b->first, a->step + sign * b->step};
  }
  return c && fits(op.result(), *c) ? c : std::nullopt;
}

Shape TurnDependence::allTurnsOf(Value v) const {
  Shape shape = m_.shape(v);
  shape.dims.insert(0, turns());
  return shape;
}

Value TurnDependence::number(Builder& inside, Value counter) const {
  const Shape shape = m_.shape(counter);
  auto apply = [&](OpKind kind, Value v, int64_t with) {
    return inside.binary(kind, v, inside.splat(shape, static_cast<double>(with)));
  };
  Value turn = counter;
  if (counted_.first != 0) turn = apply(OpKind::subtract_, turn, counted_.first);
  if (counted_.step != 1) turn = apply(OpKind::divide_, turn, counted_.step);
  return turn;
}

Value readLine(Builder& b, Value all, Value turn, const Dims& to) {
  Values operands{all, turn};
  while (operands.size() <= to.size() + 1) operands.push_back(b.splat(b.shape(turn), 0));
  Ints sizes = behind(1, Ints(to.begin(), to.end()));
  const Value line = b.build(OpKind::dynamic_slice_, std::move(operands),
                             {{AttrKey::slice_sizes, std::move(sizes)}});
  return b.reshape(line, to);
}

Value writeLine(Builder& b, Value all, Value turn, Value line) {
  Dims dims = b.shape(line).dims;
  dims.insert(0, 1);
  Values operands{all, b.reshape(line, dims), turn};
  while (operands.size() < dims.size() + 2) operands.push_back(b.splat(b.shape(turn), 0));
  return b.build(OpKind::dynamic_update_slice_, std::move(operands));
}

// Operands first: rows of ops are too long for recursion.
Value AllTurns::of(Value v) {
  std::vector<Value> todo{v};
  while (!todo.empty()) {
    const Value next = todo.back();
    const size_t before = todo.size();
    if (!all_.contains(next.index))
      for (Value operand : readOnAllTurns(next) | std::views::reverse)
        if (!all_.contains(operand.index)) todo.push_back(operand);
    if (todo.size() > before) continue;
    if (!all_.contains(next.index)) all_[next.index] = make(next);
    todo.pop_back();
  }
  return all_.at(v.index);
}

std::span<const Value> AllTurns::readOnAllTurns(Value v) const {
  const Op* op = m_.def(v);
  if (!op || dependence_.of(v) == Dependence::nothing) return {};
  if (op->kind != OpKind::dynamic_slice_) return op->operands;
  if (dependence_.readsLines(*op)) return {};
  return std::span<const Value>(op->operands).subspan(1);
}

Value AllTurns::make(Value v) {
  const Shape to = dependence_.allTurnsOf(v);
  if (dependence_.of(v) == Dependence::nothing) {
    Ints dimensions(m_.shape(v).rank());
    std::iota(dimensions.begin(), dimensions.end(), 1);
    return around_.broadcast(outside(v), to, std::move(dimensions));
  }
  if (const Op* op = m_.def(v)) return makeAgain(*op);
  const Counted count = dependence_.count();
  auto apply = [&](OpKind kind, Value numbers, int64_t with) {
    return around_.binary(kind, numbers, around_.splat(to, static_cast<double>(with)));
  };
  Value numbers = around_.iota(to, 0);
  if (count.step != 1) numbers = apply(OpKind::multiply_, numbers, count.step);
  if (count.first != 0) numbers = apply(OpKind::add_, numbers, count.first);
  return numbers;
}

// What the body makes of nothing that changes, made in front of it.
Value AllTurns::outside(Value v) {
  if (dependence_.isOutside(v)) return v;
  if (const auto at = outside_.find(v.index); at != outside_.end()) return at->second;
  Values operands = m_.def(v)->operands;
  for (Value& operand : operands) operand = outside(operand);
  const OpId copy = copyOn(m_, v, std::move(operands));
  m_.region(around_.region()).ops.push_back(copy);
  return outside_[v.index] = m_.op(copy).result();
}

Value AllTurns::makeAgain(const Op& op) {
  if (op.kind == OpKind::dynamic_slice_)
    return dependence_.readsLines(op) ? readLines(op) : readPlaces(op);
  const Shape shape = dependence_.allTurnsOf(op.result());
  Values operands;
  for (Value v : op.operands) operands.push_back(all_.at(v.index));
  if (isElementwise(op.kind))  // a predicate or a bound may be a single element
    for (Value& v : operands)
      if (m_.shape(v).rank() < shape.rank())
        v = around_.broadcast(v, {m_.shape(v).dtype, shape.dims}, {0});
  around_.setLocation(op.loc);
  const Type type{shape};
  const OpId made = around_.append(op.kind, std::move(operands), {&type, 1},
                                   attrsOfAll(op.attrs, dependence_.turns()));
  return m_.op(made).result();
}

// Lines that follow one another, from the first of an array's dimensions.
Value AllTurns::readLines(const Op& op) {
  const Counted line = *dependence_.countedBy(op.operand(1));
  const auto [low, high] = std::minmax({line.at(0), line.at(dependence_.turns() - 1)});
  const Value from = outside(op.operand(0));
  const Dims& dims = m_.shape(from).dims;
  Ints start(dims.size(), 0), limit(dims.begin(), dims.end()), strides(dims.size(), 1);
  start[0] = low, limit[0] = high + 1, strides[0] = std::abs(line.step);
  around_.setLocation(op.loc);
  const bool is_all = dims[0] == dependence_.turns();
  Value lines = is_all ? from : around_.slice(from, start, limit, strides);
  if (line.step < 0) lines = around_.reverse(lines, {0});
  return around_.reshape(lines, dependence_.allTurnsOf(op.result()).dims);
}

Value AllTurns::readPlaces(const Op& op) {
  const Dims& sizes = m_.shape(op.result()).dims;
  const auto rank = static_cast<int64_t>(sizes.size());
  Values starts;
  for (int64_t d = 0; d < rank; ++d)
    starts.push_back(around_.reshape(all_.at(op.operand(static_cast<size_t>(d) + 1).index),
                                     {dependence_.turns(), 1}));
  Ints window, map;
  for (int64_t d = 0; d < rank; ++d) window.push_back(d + 1), map.push_back(d);
  around_.setLocation(op.loc);
  return around_.build(
      OpKind::gather_, {outside(op.operand(0)), around_.concatenate(std::move(starts), 1)},
      {{AttrKey::offset_dims, window}, {AttrKey::collapsed_slice_dims, Ints{}},
       {AttrKey::operand_batching_dims, Ints{}}, {AttrKey::start_indices_batching_dims, Ints{}},
       {AttrKey::start_index_map, map}, {AttrKey::index_vector_dim, int64_t{1}},
       {AttrKey::slice_sizes, Ints(sizes.begin(), sizes.end())}});
}

}  // namespace tercel::passes
