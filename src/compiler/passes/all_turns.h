// What a counted loop computes on each turn of the turn's number alone, computed for all turns at
// once: arrays whose first dimension is that of the turns.
#pragma once
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/parallel_loop.h"

namespace tercel::passes {

// An integer of the loop's body that is first + step * turn.
struct Counted {
  int64_t first = 0, step = 0;
  int64_t at(int64_t turn) const { return first + step * turn; }
  friend bool operator==(const Counted&, const Counted&) = default;
};

// What the values of a loop's body depend on.
enum class Dependence { nothing, turn, state };

class TurnDependence {
 public:
  TurnDependence(const ir::Module& module, const ir::Op& loop, const ir::CountedLoop& counted);

  Dependence of(ir::Value v) const;
  bool isOutside(ir::Value v) const { return !body_.contains(v.index); }
  // Nothing where it is no such number, or one that wraps around on the way.
  std::optional<Counted> countedBy(ir::Value v) const;
  // An op of which AllTurns can make all turns, if it can of the operands.
  bool isUniform(const ir::Op& op) const;
  // Whether a dynamic_slice takes whole lines that follow one another from turn to turn.
  bool readsLines(const ir::Op& slice) const;
  Counted count() const { return {counted_.first, counted_.step}; }
  int64_t turns() const { return counted_.turns; }
  // Of a value on all turns.
  Shape allTurnsOf(ir::Value v) const;
  // Of the turn, from 0, by ops of the body, or of another that counts alike.
  ir::Value number(ir::Builder& inside) const { return number(inside, counter_); }
  ir::Value number(ir::Builder& inside, ir::Value counter) const;

 private:
  std::optional<Counted> countedAs(const ir::Op& op) const;
  bool fits(ir::Value v, const Counted& c) const;

  const ir::Module& m_;
  const ir::CountedLoop counted_;
  const ir::Value counter_;
  std::unordered_map<uint32_t, Dependence> body_;   // by value, those that the body makes
  std::unordered_map<uint32_t, Counted> numbers_;
};

// A turn's part of an array of all turns; the array with another part.
ir::Value readLine(ir::Builder& b, ir::Value all, ir::Value turn, const Dims& to);
ir::Value writeLine(ir::Builder& b, ir::Value all, ir::Value turn, ir::Value line);

class AllTurns {
 public:
  // `around`: in front of the loop, or behind it.
  AllTurns(ir::Builder& around, const TurnDependence& dependence)
      : m_(around.module()), around_(around), dependence_(dependence) {}

  // v is known for all turns.
  void give(ir::Value v, ir::Value all) { all_[v.index] = all; }
  // All turns of a value that follows from such, from the turn and from what is outside.
  ir::Value of(ir::Value v);

 private:
  std::span<const ir::Value> readOnAllTurns(ir::Value v) const;
  ir::Value make(ir::Value v);
  ir::Value makeAgain(const ir::Op& op);
  ir::Value readLines(const ir::Op& op);
  ir::Value readPlaces(const ir::Op& op);
  ir::Value outside(ir::Value v);

  ir::Module& m_;
  ir::Builder& around_;
  const TurnDependence& dependence_;
  std::unordered_map<uint32_t, ir::Value> all_, outside_;
};

}  // namespace tercel::passes
