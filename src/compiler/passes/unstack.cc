// States of few components, which jnp.stack puts together and x[..., i] takes apart again on every
// turn of a loop: each component is carried as an array of its own, whose elements lie side by side,
// or as a number.
#include <algorithm>
#include <unordered_map>

#include "compiler/ir/builder.h"
#include "compiler/ir/cut.h"
#include "compiler/ir/rename.h"
#include "compiler/passes/components.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

// The loop that carries components. Ops around it go to `around`, in order.
class Unstacked {
 public:
  Unstacked(Builder& around, const Op& loop, const Split& split)
      : m_(around.module()), around_(around), loop_(loop), body_(m_.region(loop.regions[1])),
        split_(split) {
    for (OpId id : body_.ops)
      for (Value v : m_.op(id).results) inside_.insert(v.index);
  }

  // What stands for each result.
  std::vector<Value> make() {
    const RegionId condition = m_.addRegion(), turn = m_.addRegion();
    Builder inside(m_, turn, loop_.loc);
    inside_builder_ = &inside;
    Values starts;
    std::vector<Type> types;
    const Region& check = m_.region(loop_.regions[0]);
    for (size_t i = 0; i < body_.args.size(); ++i)
      forEachPart(i, [&](int64_t d, int64_t line) {
        starts.push_back(d < 0 ? loop_.operand(i) : outside(loop_.operand(i), d, line));
        types.push_back(m_.type(starts.back()));
        const Value arg = m_.addArg(condition, types.back());
        if (d < 0) whole_[check.args[i].index] = arg;
        Value& own = d < 0 ? whole_[body_.args[i].index]
                           : components_[{body_.args[i].index, d, line}];
        own = m_.addArg(turn, types.back());
      });
    copyCondition(check, condition);
    Values results;
    for (size_t i = 0; i < body_.args.size(); ++i)
      forEachPart(i, [&](int64_t d, int64_t line) {
        results.push_back(d < 0 ? whole(body_.results[i]) : component(body_.results[i], d, line));
      });
    m_.region(turn).results = results;
    const OpId made = around_.append(OpKind::while_, starts, types);
    m_.op(made).regions = {condition, turn};
    return joined(m_.op(made));
  }

 private:
  // f(dimension, line) for each component that operand i is carried as; f(-1, 0) where it is whole.
  template <class F>
  void forEachPart(size_t i, F&& f) const {
    const auto at = split_.dimensions.find(i);
    if (at == split_.dimensions.end()) return f(-1, 0);
    const auto d = static_cast<size_t>(at->second);
    for (int64_t line = 0; line < m_.shape(loop_.operand(i)).dims[d]; ++line) f(at->second, line);
  }

  std::vector<Value> joined(const Op& made) {
    std::vector<Value> results;
    size_t next = 0;
    for (size_t i = 0; i < body_.args.size(); ++i) {
      Values parts;
      forEachPart(i, [&](int64_t, int64_t) { parts.push_back(made.result(next++)); });
      const auto at = split_.dimensions.find(i);
      results.push_back(at == split_.dimensions.end() ? parts[0]
                                                      : around_.concatenate(parts, at->second));
    }
    return results;
  }

  void copyCondition(const Region& from, RegionId to) {
    for (OpId id : from.ops) {
      Values operands;
      for (Value v : m_.op(id).operands) operands.push_back(whole(v));
      const Op& copied = copyTo(to, m_.op(id), std::move(operands), -1);
      for (size_t r = 0; r < copied.results.size(); ++r)
        whole_[m_.op(id).result(r).index] = copied.result(r);
    }
    m_.region(to).results = {whole(from.results[0])};
  }

  Shape shapeOf(Value v, int64_t d) const {
    Shape shape = m_.shape(v);
    if (d >= 0) shape.dims[static_cast<size_t>(d)] = 1;
    return shape;
  }

  const Op& copyTo(RegionId region, const Op& op, Values operands, int64_t d) {
    const OpId id = copyCut(m_, op, std::move(operands), {d, 1});
    m_.region(region).ops.push_back(id);
    return m_.op(id);
  }

  Value outside(Value v, int64_t d, int64_t line) {
    const Op* op = m_.def(v);
    if (op && op->kind == OpKind::constant_ && op->literal().isSplat())
      return around_.constant(Literal::splat(shapeOf(v, d), op->literal().bytes().data()));
    return sliceLine(around_, v, d, line);
  }

  Value component(Value v, int64_t d, int64_t line) {
    if (m_.shape(v).dims[static_cast<size_t>(d)] == 1) return whole(v);
    if (auto at = components_.find({v.index, d, line}); at != components_.end()) return at->second;
    const bool is_inside = inside_.contains(v.index);
    const Value made = is_inside ? componentInside(v, d, line) : outside(v, d, line);
    return components_[{v.index, d, line}] = made;
  }

  Value componentInside(Value v, int64_t d, int64_t line) {
    const Op& op = *m_.def(v);
    if (split_.sliced.contains(v.index) || op.operands.empty())
      return sliceLine(*inside_builder_, whole(v), d, line);
    return componentOf(
        *inside_builder_, op, d, line, [&](Value operand) { return whole(operand); },
        [&](Value operand, int64_t along, int64_t at) { return component(operand, along, at); });
  }

  Value whole(Value v) {
    if (auto at = whole_.find(v.index); at != whole_.end()) return at->second;
    return whole_[v.index] = makeWhole(v);
  }

  Value makeWhole(Value v) {
    const auto arg = std::ranges::find(body_.args, v);
    if (arg != body_.args.end())
      return join(v, split_.dimensions.at(static_cast<size_t>(arg - body_.args.begin())));
    if (!inside_.contains(v.index)) return v;
    if (auto at = split_.joined.find(v.index); at != split_.joined.end())
      return join(v, at->second);
    const Op& op = *m_.def(v);
    if (split_.taken.contains(v.index)) {
      const size_t d = firstUnequal(op);
      return component(op.operand(0), static_cast<int64_t>(d),
                       op.ints(AttrKey::start_indices)[d]);
    }
    if (split_.folded.contains(v.index)) return folded(op);
    Values operands;
    for (Value operand : op.operands) operands.push_back(whole(operand));
    const Op& copied = copyTo(inside_builder_->region(), op, std::move(operands), -1);
    for (size_t r = 0; r < op.results.size(); ++r) whole_[op.result(r).index] = copied.result(r);
    return whole_.at(v.index);
  }

  Value join(Value v, int64_t d) { return inside_builder_->concatenate(components(v, d), d); }
  Values components(Value v, int64_t d) {
    Values parts;
    for (int64_t line = 0; line < m_.shape(v).dims[static_cast<size_t>(d)]; ++line)
      parts.push_back(component(v, d, line));
    return parts;
  }

  Value folded(const Op& op) {
    const int64_t d = op.ints(AttrKey::dimensions)[0];
    const Value initial = whole(op.operand(1));
    return fold(*inside_builder_, *foldStep(m_, op, d), initial, components(op.operand(0), d),
                m_.shape(op.result()).dims);
  }

  size_t firstUnequal(const Op& op) const {
    const Dims &from = m_.shape(op.operand(0)).dims, &to = m_.shape(op.result()).dims;
    size_t d = 0;
    while (from[d] == to[d]) ++d;
    return d;
  }

  Module& m_;
  Builder& around_;
  Builder* inside_builder_ = nullptr;
  const Op& loop_;
  const Region& body_;
  const Split& split_;
  std::unordered_set<uint32_t> inside_;
  std::unordered_map<uint32_t, Value> whole_;
  std::map<Component, Value> components_;
};

class Unstack {
 public:
  explicit Unstack(Module& m) : m_(m) {}

  bool run() {
    for (Function& function : m_.functions) visit(function.body);
    if (renamed_.empty()) return false;
    for (Function& function : m_.functions) rename(m_, function.body, renamed_);
    return true;
  }

 private:
  // Loops inside first.
  void visit(RegionId id) {
    std::vector<OpId> ops;
    for (OpId o : std::vector<OpId>(m_.region(id).ops)) {
      const Op& op = m_.op(o);
      for (RegionId inner : op.regions) visitInside(inner);
      const auto split = op.kind == OpKind::while_ ? findSplit(m_, op) : std::nullopt;
      if (!split) {
        ops.push_back(o);
        continue;
      }
      const RegionId fresh = m_.addRegion();
      Builder around(m_, fresh, op.loc);
      const std::vector<Value> results = Unstacked(around, op, *split).make();
      for (size_t r = 0; r < results.size(); ++r) renamed_[op.result(r).index] = results[r];
      const auto& made = m_.region(fresh).ops;
      ops.insert(ops.end(), made.begin(), made.end());
    }
    m_.region(id).ops = std::move(ops);
  }

  void visitInside(RegionId id) {
    const size_t before = renamed_.size();
    visit(id);
    if (renamed_.size() > before) rename(m_, id, renamed_);
  }

  Module& m_;
  Renamed renamed_;
};

}  // namespace

PassResult unstack(Module& module) { return Unstack(module).run(); }

}  // namespace tercel::passes
