// Arrays of integers whose elements are affine functions of their coordinates: what gathers read
// where jnp.arange and arithmetic say the places.
#pragma once
#include <optional>
#include <span>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// A digit of a coordinate of the box: coordinate / divisor % extent.
struct Digit {
  size_t dimension;
  int64_t divisor, extent;
  auto operator<=>(const Digit&) const = default;
};

// constant + the sum of factor * digit.
struct Affine {
  struct Term {
    Digit digit;
    int64_t factor;
    bool operator==(const Term&) const = default;
  };
  SmallVector<Term, 4> terms;
  int64_t constant = 0;

  int64_t lowest() const;
  int64_t highest() const;
  bool operator==(const Affine&) const = default;
};

Affine sum(Affine a, const Affine& b);

// The part of a result that is looked at; coordinates count from its lower corner.
struct Box {
  ir::Ints low;
  Dims extents;
};

// Where one function ends and another begins: the box is to be cut there.
struct CutAt {
  size_t dimension;
  int64_t at;  // counted from the box's lower corner
};

class AffinePlaces {
 public:
  AffinePlaces(const Rewriter& rw, const Box& box) : rw_(rw), box_(box) {}

  // A coordinate of the result.
  Affine coordinate(size_t dimension) const;
  // The element of v there; nothing where it is no such function, or might wrap around.
  std::optional<Affine> at(ir::Value v, std::span<const Affine> coordinates);
  // No less than 0, no more than `limit`.
  std::optional<Affine> clamped(const Affine& a, int64_t limit);
  // Where cutting the box may help, after nothing was found.
  const std::optional<CutAt>& cut() const { return cut_; }

 private:
  struct Divided {
    Affine quotient, remainder;
  };

  std::optional<Affine> inside(const ir::Op& op, std::span<const Affine> coordinates);
  std::optional<Affine> operandAt(const ir::Op& op, size_t i, std::span<const Affine> coordinates);
  std::optional<Affine> clamped(const Affine& low, const Affine& a, const Affine& high);
  std::optional<Affine> arithmetic(const ir::Op& op, std::span<const Affine> coordinates);
  std::optional<Affine> literalAt(const ir::Literal& literal, const Affine& place);
  std::optional<Affine> joinedAt(const ir::Op& op, std::span<const Affine> coordinates);
  std::optional<Affine> reshapedAt(const ir::Op& op, std::span<const Affine> coordinates);
  std::optional<Divided> divided(const Affine& a, int64_t by);
  std::optional<Affine> partOf(ir::OpKind kind, const Affine& a, const Affine& b);
  std::optional<bool> isBelow(const Affine& a, int64_t bound);
  std::optional<bool> compared(const ir::Op& compare, std::span<const Affine> coordinates);
  std::optional<Affine> smaller(const Affine& a, const Affine& b, bool larger);
  void wantCut(const Affine& a, int64_t bound);

  const Rewriter& rw_;
  const Box& box_;
  std::optional<CutAt> cut_;
  int visits_ = 0;
};

}  // namespace tercel::passes
