// What a loop carries by components: states of few of them, which jnp.stack and x.at[..., i].set put
// together and x[..., i] takes apart again on every turn.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>

#include "compiler/ir/builder.h"
#include "compiler/ir/module.h"

namespace tercel::passes {

using Component = std::tuple<uint32_t, int64_t, int64_t>;  // value, dimension, line

// A component of an op's result as one of an operand; line -1: all of it is that single element.
struct Origin {
  ir::Value operand;
  int64_t line;
};
std::optional<Origin> originOf(const ir::Module& module, const ir::Op& op, int64_t dimension,
                               int64_t line);

ir::Value sliceLine(ir::Builder& b, ir::Value v, int64_t dimension, int64_t line);

// A component of the result of an op that is computed by components: `component` gives those of its
// operands, `whole` the operands that all components need.
ir::Value componentOf(ir::Builder& b, const ir::Op& op, int64_t dimension, int64_t line,
                      const std::function<ir::Value(ir::Value)>& whole,
                      const std::function<ir::Value(ir::Value, int64_t, int64_t)>& component);

// What a reduce over that dimension alone does with two of its elements, where it is one op that may
// as well go over components one after the other; null else.
const ir::Op* foldStep(const ir::Module& module, const ir::Op& op, int64_t dimension);
// The same of components, which are of `to` but for the dimension that they were.
ir::Value fold(ir::Builder& b, const ir::Op& step, ir::Value initial, const ir::Values& parts,
               const Dims& to);

// How the values of the body follow.
struct Split {
  std::map<size_t, int64_t> dimensions;  // by operand
  std::set<Component> components;
  std::set<uint32_t> whole;
  std::unordered_set<uint32_t> taken;   // slices that are a component of their operand
  std::unordered_set<uint32_t> folded;  // what is reduced over components
  // Whole besides, and computed once all the same, for two copies might be rounded differently:
  std::map<uint32_t, int64_t> joined;   // all components of this dimension together
  std::unordered_set<uint32_t> sliced;  // whose few components are parts of the whole
  bool joins = false;  // whether a component was one of those that are put together or reduced
};

// None where no operand of the while_ is better carried so.
std::optional<Split> findSplit(const ir::Module& module, const ir::Op& loop);

}  // namespace tercel::passes
