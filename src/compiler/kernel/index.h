// Symbolic index arithmetic over loop variables: what decides whether a load is contiguous.
//
// An Index is an integer combination of atoms plus a constant. Atoms are loop variables, values known
// only at run time, and quotients and remainders by constants that could not be simplified away. All
// atoms are in [0, extent).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/builder.h"
#include "core/integers.h"
#include "core/small_vector.h"

namespace tercel::kernel {

// Where a lane's element does not matter.
constexpr int64_t kNoPlace = INT64_MIN;

struct Term {
  uint32_t atom;
  int64_t factor;
  friend bool operator==(Term, Term) = default;
  friend auto operator<=>(Term, Term) = default;
};

struct Index {
  SmallVector<Term, 4> terms;  // sorted by atom, no zero factors
  int64_t constant = 0;

  Index() = default;
  Index(int64_t value) : constant(value) {}
  bool isConstant() const { return terms.empty(); }
  void add(Term term);
  friend bool operator==(const Index& a, const Index& b) {
    return a.constant == b.constant && a.terms == b.terms;
  }
};
using Indices = std::vector<Index>;

// `value` at lane l is `lane_step * l` more than its scalar value; a loop that is not vectorised and
// a scalar known at run time have lane_step 0.
struct Atom {
  enum class Kind : uint8_t { scalar, lanes, known, quotient, remainder };
  Kind kind = Kind::scalar;
  int64_t extent = 0;
  bool is_loop = false;
  bool is_vector_loop = false;
  int lanes = 0;      // of wholeVectors()
  V value;            // scalar: i64; lanes: vector of integers
  std::vector<int64_t> at_lanes;  // known: one number for each lane, or kNoPlace
  Index inner;        // quotient, remainder
  int64_t divisor = 1;
};

class IndexSpace {
 public:
  explicit IndexSpace(Builder& builder) : builder_(builder) {}

  // A loop's variable: its scalar value, or that of lane 0 where `vector`.
  Index loop(V value, int64_t extent, bool vector = false);
  // The same of vectors that begin at multiples of `lanes` and end within the extent.
  Index wholeVectors(V value, int64_t extent, int lanes);
  Index scalar(V value, int64_t extent);
  Index lanes(V values, int64_t extent);
  Index known(std::vector<int64_t> at_lanes, int64_t extent);

  Index add(const Index& a, const Index& b) const;
  Index scale(const Index& a, int64_t factor) const;
  Index subtract(const Index& a, const Index& b) const { return add(a, scale(b, -1)); }
  Index quotient(const Index& a, int64_t divisor);   // a >= 0, floor
  Index remainder(const Index& a, int64_t divisor);

  // Row-major linear index, and back.
  Index linear(std::span<const Index> indices, std::span<const int64_t> dims) const;
  Indices delinear(const Index& linear, std::span<const int64_t> dims);

  int64_t lowest(const Index& a) const;
  int64_t highest(const Index& a) const;
  // Whether the value differs between lanes; if it does so linearly, *step is the difference.
  bool varies(const Index& a) const;
  bool linearInLanes(const Index& a, int64_t* step) const;
  // Of an index that is `base` plus a number known for each lane: those numbers, or kNoPlace. Else
  // empty.
  std::vector<int64_t> knownLanes(const Index& a, int lanes, Index* base) const;

  // The scalar value (lane 0's), less the constant where `skip_constant`.
  V emitScalar(const Index& a, bool skip_constant = false);
  // All lanes, as far as they differ or whole, in the lower bits that the word has.
  V emitLanes(const Index& a, int lanes, Scalar word);
  // i32 where that has the index at each lane, and all it is made of: twice as many fit into a vector.
  Scalar wordOf(const Index& a) const;
  Places emitPlaces(const Index& a, int lanes);
  // Where lanes are by numbers that only the program knows: all within `span` places from one on.
  struct NearPlaces {
    Index first, numbers;
    int64_t span;
    bool is_same = true;  // the first place of each lane by itself
  };
  std::optional<NearPlaces> nearPlaces(const Index& a, int lanes);

  const Atom& atom(uint32_t id) const { return atoms_[id]; }
  std::span<const Atom> atoms() const { return atoms_; }
  // Quotients and remainders of one plain loop variable by a divisor of its extent: splitting the
  // loop there would remove them.
  struct Split {
    uint32_t atom;
    int64_t divisor;
  };
  const std::vector<Split>& wantedSplits() const { return splits_; }
  // A use of the bare value of an index (iota, bounds, a quotient that is emitted): loops may be
  // merged where that is a multiple of the merged one's.
  void noteBareUse(const Index& a);
  std::span<const Index> bareUses() const { return bare_; }  // the terms that are loops
  // The same of what is only compared with bounds: that may be a quotient, too, as withoutQuotient()
  // says.
  void noteBoundUse(const Index& a);
  std::span<const Index> boundUses() const { return bound_; }
  // An index and a factor: a is less than an integer (or not) as that is than `factor` of it.
  Index withoutQuotient(const Index& a, int64_t* factor) const;
  bool usedBare(uint32_t atom) const;

 private:
  uint32_t addAtom(Atom atom);
  Index atomIndex(uint32_t id) const;
  std::pair<Index, Index> inUnits(const Index& a, int64_t unit) const;
  int64_t unitOf(const Index& a, int64_t divisor) const;
  Index divided(Atom::Kind kind, const Index& a, int64_t divisor);
  // Of divisions whose parts are known in each lane: divisor * quotient + remainder = whole = of.
  struct InLanes {
    Index of;
    int64_t divisor;
    Index quotient, remainder, whole;
  };
  const InLanes* dividedInLanes(const Index& a, int64_t divisor);
  Index recombined(Index a) const;
  Index loopsOf(const Index& a) const;
  bool atLane(uint32_t id, int lane, int64_t* value) const;
  V emitKnown(std::span<const int64_t> at_lanes, Scalar word);
  V emitAtom(uint32_t id);
  V emitAtomLanes(uint32_t id, int lanes, Scalar word);
  struct Parts {
    Index uniform, varying;  // a vector loop's first lane is in the one, its step is the other's
    int64_t step = 0;
  };
  Parts partsOf(const Index& a) const;
  bool isNear(const Index& a) const;
  Scalar wordOf(const Parts& parts) const;
  V emitVarying(const Parts& parts, int lanes, Scalar word);
  V resized(V value, Scalar word);

  Builder& builder_;
  std::vector<Atom> atoms_;
  std::vector<Split> splits_;
  std::vector<InLanes> in_lanes_;
  std::vector<Index> bare_, bound_;
};

}  // namespace tercel::kernel
