#include "compiler/passes/components.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/ir/cut.h"
#include "compiler/ir/clone.h"
#include "compiler/passes/effects.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kMostNumbers = 16, kMostLines = 8;
constexpr int64_t kFewestElements = 16;  // of a line
constexpr size_t kMostOps = 500, kMostMade = 2000;

// Numbers are carried in registers, each ready as soon as it is computed; lines fill vectors.
bool suits(int64_t components, int64_t elements_of_each) {
  return elements_of_each == 1 ? components <= kMostNumbers
                               : components <= kMostLines && elements_of_each >= kFewestElements;
}

// Whether it adds lines of one dimension and no others.
bool padsOnly(const Op& op, size_t dimension) {
  for (AttrKey key :
       {AttrKey::edge_padding_low, AttrKey::edge_padding_high, AttrKey::interior_padding})
    for (size_t d = 0; d < op.ints(key).size(); ++d)
      if (d == dimension ? op.ints(key)[d] < 0 : op.ints(key)[d] != 0) return false;
  return true;
}

// Where an update of whole lines of one dimension begins, if it is known.
std::optional<int64_t> startOfLines(const Module& m, const Op& update, size_t dimension) {
  const Dims &dims = m.shape(update.operand(0)).dims, &part = m.shape(update.operand(1)).dims;
  for (size_t d = 0; d < dims.size(); ++d)
    if (d != dimension && dims[d] != part[d]) return {};
  const Op* start = m.def(update.operand(2 + dimension));
  if (!start || start->kind != OpKind::constant_) return {};
  const auto at = static_cast<int64_t>(start->literal().number(0));
  return std::clamp<int64_t>(at, 0, dims[dimension] - part[dimension]);
}

class ComponentSearch {
 public:
  ComponentSearch(const Module& m, const Op& loop)
      : m_(m), loop_(loop), body_(m.region(loop.regions[1])) {
    for (size_t i = 0; i < body_.args.size(); ++i) argument_[body_.args[i].index] = i;
    for (OpId id : body_.ops)
      for (Value v : m.op(id).results) inside_.insert(v.index);
  }

  std::optional<Split> run(size_t seed, int64_t dimension) {
    dimension_ = dimension;
    if (!mark(seed, dimension) || !follow()) return {};
    for (size_t i = 0; i < body_.args.size(); ++i)
      if (!split_.dimensions.contains(i) && (!whole(body_.results[i]) || !follow())) return {};
    if (!split_.joins || readsSplit(m_.region(loop_.regions[0]))) return {};
    computeOnce();
    return split_;
  }

 private:
  bool mark(size_t i, int64_t dimension) {
    if (auto at = split_.dimensions.find(i); at != split_.dimensions.end())
      return at->second == dimension;
    const Shape& shape = m_.shape(loop_.operand(i));
    const int64_t lines = shape.dims[static_cast<size_t>(dimension)];
    if (!suits(lines, shape.elements() / lines)) return false;
    split_.dimensions[i] = dimension;
    ahead_.push_back(i);
    return true;
  }

  bool follow() {
    while (!ahead_.empty()) {
      const size_t i = ahead_.back();
      ahead_.pop_back();
      const int64_t d = split_.dimensions.at(i);
      const int64_t lines = m_.shape(body_.args[i]).dims[static_cast<size_t>(d)];
      for (int64_t line = 0; line < lines; ++line)
        if (!need(body_.results[i], d, line)) return false;
    }
    return true;
  }

  bool readsSplit(const Region& condition) const {
    for (OpId id : condition.ops) {
      if (!m_.op(id).regions.empty() && usesOuterValues(m_, m_.op(id))) return true;
      for (Value v : m_.op(id).operands)
        for (auto [i, d] : split_.dimensions)
          if (v == condition.args[i]) return true;
    }
    return false;
  }

  bool need(Value v, int64_t d, int64_t line) {
    if (m_.shape(v).dims[static_cast<size_t>(d)] == 1) return whole(v);
    if (auto at = argument_.find(v.index); at != argument_.end()) {
      reached_state_ = true;
      return mark(at->second, d);
    }
    if (!inside_.contains(v.index)) return true;
    const Component component{v.index, d, line};
    if (!split_.components.insert(component).second) {
      reached_state_ |= of_state_.contains(component);
      return true;
    }
    const bool before = std::exchange(reached_state_, false);
    const bool is_made = split_.components.size() <= kMostMade && needParts(*m_.def(v), d, line);
    if (reached_state_) of_state_.insert(component);
    reached_state_ |= before;
    return is_made;
  }

  bool needParts(const Op& op, int64_t d, int64_t line) {
    if (auto origin = originOf(m_, op, d, line)) {
      split_.joins |= op.kind == OpKind::concatenate_ || op.kind == OpKind::pad_ ||
                      op.kind == OpKind::dynamic_update_slice_;
      if (origin->line < 0) return whole(origin->operand);
      return need(origin->operand, d, origin->line);
    }
    if (op.operands.empty()) return true;
    const auto cuts = isCutEasily(op) ? operandCuts(m_, op, {d, 1}) : std::nullopt;
    if (!cuts) return false;
    for (size_t i = 0; i < cuts->size(); ++i) {
      const Cut& cut = (*cuts)[i];
      if (!cut.isWhole() && cut.unit != 1) return false;
      if (cut.isWhole() ? !whole(op.operand(i)) : !need(op.operand(i), cut.dimension, line))
        return false;
    }
    return true;
  }

  bool isCutEasily(const Op& op) const {
    if (op.kind == OpKind::reduce_) return op.results.size() == 1 && !usesOuterValues(m_, op);
    const bool is_small = isElementwise(op.kind) || opClass(op.kind) == OpClass::shape ||
                          opClass(op.kind) == OpClass::index;
    return is_small && op.regions.empty();
  }

  // Of what is carried by components, all are put together: no worse than to carry it so.
  bool whole(Value v) {
    if (!inside_.contains(v.index) || !split_.whole.insert(v.index).second) return true;
    if (dimensionOf(v)) return true;
    const Op& op = *m_.def(v);
    if (!op.regions.empty() && usesOuterValues(m_, op)) return false;
    if (takesComponent(op) || foldsComponents(op)) return true;
    return std::ranges::all_of(op.operands, [&](Value operand) { return whole(operand); });
  }

  auto componentsOf(Value v) const {
    return std::ranges::subrange(split_.components.lower_bound({v.index, 0, 0}),
                                 split_.components.lower_bound({v.index + 1, 0, 0}));
  }

  // In which all of its components are there; none of a constant, whose components are taken of it.
  std::optional<int64_t> dimensionOf(Value v) const {
    if (m_.def(v)->operands.empty()) return {};
    const Dims& dims = m_.shape(v).dims;
    std::map<int64_t, int64_t> lines;
    for (const auto& [value, d, line] : componentsOf(v))
      if (++lines[d] == dims[static_cast<size_t>(d)]) return d;
    return {};
  }

  // At the end: components may have been needed after the whole.
  void computeOnce() {
    for (uint32_t index : split_.whole) {
      const Value v{index};
      if (split_.taken.contains(index)) continue;
      if (const auto d = dimensionOf(v))
        split_.joined[index] = *d;
      else if (!componentsOf(v).empty())
        split_.sliced.insert(index);
    }
  }

  bool takesComponent(const Op& op) {
    const auto d = static_cast<size_t>(dimension_);
    if (op.kind != OpKind::slice_) return false;
    const Dims &from = m_.shape(op.operand(0)).dims, &to = m_.shape(op.result()).dims;
    if (from.size() <= d || to[d] != 1 || from[d] == 1 || from[d] > kMostNumbers) return false;
    for (size_t k = 0; k < from.size(); ++k)
      if (k != d && from[k] != to[k]) return false;
    return orAsBefore([&] {
      split_.taken.insert(op.result().index);
      return need(op.operand(0), dimension_, op.ints(AttrKey::start_indices)[d]);
    });
  }

  bool foldsComponents(const Op& op) {
    if (op.kind != OpKind::reduce_ || op.ints(AttrKey::dimensions).size() != 1) return false;
    const int64_t d = op.ints(AttrKey::dimensions)[0];
    const Shape& shape = m_.shape(op.operand(0));
    const int64_t lines = shape.dims[static_cast<size_t>(d)];
    if (!foldStep(m_, op, d) || lines < 2 || !suits(lines, shape.elements() / lines)) return false;
    return orAsBefore([&] {
      const bool before = std::exchange(reached_state_, false);
      split_.folded.insert(op.result().index);
      split_.joins |= shape.elements() > lines;  // a few numbers are better off in one vector
      for (int64_t line = 0; line < lines; ++line)
        if (!need(op.operand(0), d, line)) return false;
      return std::exchange(reached_state_, before || reached_state_) && whole(op.operand(1));
    });
  }

  // Where it cannot be, nothing is noted.
  template <class F>
  bool orAsBefore(F&& mark) {
    const Split split = split_;
    const auto ahead = ahead_;
    if (mark()) return true;
    split_ = split;
    ahead_ = ahead;
    return false;
  }

  const Module& m_;
  const Op& loop_;
  const Region& body_;
  int64_t dimension_ = 0;
  std::unordered_map<uint32_t, size_t> argument_;
  std::unordered_set<uint32_t> inside_;
  std::vector<size_t> ahead_;
  bool reached_state_ = false;  // what was needed last is made of what the loop carries
  std::set<Component> of_state_;
  Split split_;
};

}  // namespace

std::optional<Origin> originOf(const Module& m, const Op& op, int64_t dimension, int64_t line) {
  const auto d = static_cast<size_t>(dimension);
  const int64_t size = m.shape(op.result()).dims[d];
  if (op.kind == OpKind::concatenate_ && op.integer(AttrKey::dimension) == dimension) {
    for (Value v : op.operands) {
      if (line < m.shape(v).dims[d]) return Origin{v, line};
      line -= m.shape(v).dims[d];
    }
  }
  if (op.kind == OpKind::slice_ && m.shape(op.operand(0)).dims[d] != size)
    return Origin{op.operand(0), op.ints(AttrKey::start_indices)[d] +
                                     line * op.ints(AttrKey::strides)[d]};
  if (op.kind == OpKind::reverse_ &&
      std::ranges::count(op.ints(AttrKey::dimensions), dimension) > 0)
    return Origin{op.operand(0), size - 1 - line};
  if (op.kind == OpKind::dynamic_update_slice_) {
    const auto start = startOfLines(m, op, d);
    if (!start) return {};
    const int64_t inside = line - *start;
    const bool is_new = inside >= 0 && inside < m.shape(op.operand(1)).dims[d];
    return is_new ? Origin{op.operand(1), inside} : Origin{op.operand(0), line};
  }
  if (op.kind == OpKind::pad_ && padsOnly(op, d)) {
    const int64_t inside = line - op.ints(AttrKey::edge_padding_low)[d];
    const int64_t gap = op.ints(AttrKey::interior_padding)[d] + 1;
    const bool is_inside = inside >= 0 && inside % gap == 0 &&
                           inside / gap < m.shape(op.operand(0)).dims[d];
    return is_inside ? Origin{op.operand(0), inside / gap} : Origin{op.operand(1), -1};
  }
  return {};
}

Value sliceLine(Builder& b, Value v, int64_t dimension, int64_t line) {
  const Dims& dims = b.shape(v).dims;
  Ints start(dims.size(), 0), limit(dims.begin(), dims.end());
  start[static_cast<size_t>(dimension)] = line;
  limit[static_cast<size_t>(dimension)] = line + 1;
  return b.slice(v, start, limit, Ints(dims.size(), 1));
}

namespace {

// What else a reverse turns.
Value reverseOtherDimensions(Builder& b, const Op& reverse, Value part, int64_t dimension) {
  Ints others = reverse.ints(AttrKey::dimensions);
  std::erase(others, dimension);
  if (others.empty()) return part;
  return b.build(OpKind::reverse_, {part}, {{AttrKey::dimensions, std::move(others)}});
}

// What else a slice takes away.
Value sliceOtherDimensions(Builder& b, const Op& slice, Value part, int64_t dimension) {
  Ints start = slice.ints(AttrKey::start_indices), limit = slice.ints(AttrKey::limit_indices);
  Ints strides = slice.ints(AttrKey::strides);
  const auto d = static_cast<size_t>(dimension);
  start[d] = 0;
  limit[d] = strides[d] = 1;
  return b.slice(part, start, limit, strides);
}

}  // namespace

Value componentOf(Builder& b, const Op& op, int64_t dimension, int64_t line,
                  const std::function<Value(Value)>& whole,
                  const std::function<Value(Value, int64_t, int64_t)>& component) {
  Module& m = b.module();
  if (auto origin = originOf(m, op, dimension, line)) {
    if (origin->line < 0) {
      Shape shape = m.shape(op.result());
      shape.dims[static_cast<size_t>(dimension)] = 1;
      return b.broadcast(whole(origin->operand), shape, {});
    }
    const Value part = component(origin->operand, dimension, origin->line);
    if (op.kind == OpKind::slice_) return sliceOtherDimensions(b, op, part, dimension);
    if (op.kind == OpKind::reverse_) return reverseOtherDimensions(b, op, part, dimension);
    return part;
  }
  const auto cuts = operandCuts(m, op, {dimension, 1});
  Values operands;
  for (size_t i = 0; i < cuts->size(); ++i) {
    const Cut& cut = (*cuts)[i];
    operands.push_back(cut.isWhole() ? whole(op.operand(i))
                                     : component(op.operand(i), cut.dimension, line));
  }
  const OpId made = copyCut(m, op, std::move(operands), {dimension, 1});
  m.region(b.region()).ops.push_back(made);
  return m.op(made).result();
}

const Op* foldStep(const Module& m, const Op& op, int64_t dimension) {
  if (op.kind != OpKind::reduce_ || op.operands.size() != 2 ||
      op.ints(AttrKey::dimensions) != Ints{dimension})
    return nullptr;
  const Region& body = m.region(op.regions[0]);
  if (body.ops.size() != 1) return nullptr;
  const Op& step = m.op(body.ops[0]);
  const DType dtype = m.shape(op.result()).dtype;
  const bool is_added = step.kind == OpKind::add_ || step.kind == OpKind::multiply_;
  if (is_added && isFloat(dtype) && byteSize(dtype) < 4) return nullptr;  // in wider types
  const bool is_of_both = isElementwise(step.kind) && step.operands == body.args &&
                          body.results == Values{step.result()};
  return is_of_both ? &step : nullptr;
}

Value fold(Builder& b, const Op& step, Value initial, const Values& parts, const Dims& to) {
  Value sum = b.broadcast(initial, {b.shape(initial).dtype, to}, {});
  for (Value part : parts) sum = b.binary(step.kind, sum, b.reshape(part, to));
  return sum;
}

std::optional<Split> findSplit(const Module& m, const Op& loop) {
  const Region& body = m.region(loop.regions[1]);
  if (body.ops.size() > kMostOps) return {};
  if (hasEffects(m, loop.regions[0]) || hasEffects(m, loop.regions[1])) return {};
  for (size_t i = 0; i < loop.operands.size(); ++i) {
    const Type& type = m.type(loop.operand(i));
    const int64_t first = type.shape.rank() == 1 ? 0 : 1;  // rows lie apart as they are
    for (int64_t d = type.shape.rank(); !type.is_token && d-- > first;)
      if (type.shape.elements() > 0 && type.shape.dims[static_cast<size_t>(d)] > 1)
        if (auto split = ComponentSearch(m, loop).run(i, d)) return split;
  }
  return {};
}

}  // namespace tercel::passes
