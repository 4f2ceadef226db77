// Evaluates tensor values at symbolic indices: the bridge from the tensor IR to the kernel IR.
//
// at(v, indices) emits whatever computes the element of v there: a load where v is bound to memory, a
// register where it is bound to one, else the op that defines v, at indices mapped back through it.
// With a vectorised loop among the indices the element is a vector. Every op of the IR that yields
// data can be evaluated so; nests choose loops, memory and registers to make it fast.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/kernel/elem.h"
#include "compiler/kernel/index.h"

namespace tercel::kernel {

// Which lanes (and whether any) hold elements that exist: loads must not touch the others.
struct Guard {
  V lanes;   // vector of i1, or invalid: all
  V scalar;  // i1, or invalid: true
};
// Lanes [0, count); count is an i64.
Guard firstLanes(Builder& builder, int lanes, V count);

// A load or store as the nest's planner needs to know it.
struct Access {
  Index index;
  int64_t element_bytes = 0;
  bool is_store = false;
  bool is_placed = false;  // at a place that is found out at run time
  int32_t param = -1;  // of a kernel of the cluster alone, that it is of
  bool places_vary = false;  // at one for each element
  int32_t slice_of = -1;  // the param that `param` is a slice of, if any
};

// 0 <= index < extent had to be asked.
struct Bound {
  Index index;
  int64_t extent = 0;
};

class Emitter {
 public:
  Emitter(Builder& builder, IndexSpace& space, const ir::Module& module, int lanes)
      : b_(builder), space_(space), m_(module), lanes_(lanes), scopes_(1) {}

  Builder& builder() { return b_; }
  IndexSpace& space() { return space_; }
  const ir::Module& module() const { return m_; }
  int lanes() const { return lanes_; }

  // v lives in memory, row-major from `offset` (elements; a complex number is one element).
  void bindMemory(ir::Value v, BufferId buffer, int64_t offset = 0);
  // v lives in memory, at an index that `place` works out from its indices.
  using Placement = std::function<Index(std::span<const Index>)>;
  void bindPlaced(ir::Value v, BufferId buffer, Placement place);
  // v's element at these indices is known (empty: at any indices).
  void bindElem(ir::Value v, Elem elem);
  void unbind(ir::Value v);
  // The single element `start`, as what clamped() made of it before.
  void bindStart(ir::Value start, int64_t limit, V clamped) {
    starts_[{start.index, limit}] = clamped;
  }
  bool isBound(ir::Value v) const { return bindings_.contains(v.index); }

  Elem at(ir::Value v, const Indices& indices);
  // i, which is less than `bound`, as a number.
  Elem iotaAt(const Index& i, DType dtype, int64_t bound);
  void store(ir::Value v, const Indices& indices, const Elem& elem);  // to v's memory
  void storeAt(BufferId buffer, DType dtype, const Index& index, const Elem& elem);
  // strays: where no lane is needed, there may be no memory.
  Elem loadAt(BufferId buffer, DType dtype, const Index& index, bool strays = false);

  // Runs a region on element values (reducers, comparators, scatter bodies).
  // f16 and bf16 are not rounded inside: a reduction of them is rounded once, by its user.
  std::vector<Elem> runRegion(ir::RegionId region, std::span<const Elem> args);
  // A reduction's body on accumulators and elements that come after all that are in them.
  std::vector<Elem> addInOrder(const ir::Op& reduce, std::span<const Elem> args);

  // What is emitted in `body` stays in its own memo scope: use around each block.
  template <class F>
  auto scope(F&& body) {
    struct Leave {
      Emitter& e;
      ~Leave() { e.scopes_.pop_back(); }
    };
    scopes_.emplace_back();
    Leave leave{*this};
    return body();
  }
  // What is emitted in `body` only touches elements where `guard` holds besides.
  template <class F>
  auto guarded(Guard guard, F&& body) {
    Guard before = guard_;
    guard_ = both(guard_, guard);
    scopes_.emplace_back();
    scopes_.back().guards_lanes = !guard_.scalar.valid();
    struct Leave {
      Emitter& e;
      Guard before;
      ~Leave() {
        e.guard_ = before;
        e.scopes_.pop_back();
      }
    } leave{*this, before};
    return body();
  }
  // Nested loops, the last innermost, each in its own scope, with carried elements; body gets the
  // indices, after those of `outer`.
  using LoopBody = std::function<std::vector<Elem>(const Indices&, std::vector<Elem>)>;
  std::vector<Elem> loops(std::span<const int64_t> extents, std::vector<Elem> carried,
                          const LoopBody& body, Indices outer = {});

  std::optional<Index> knownIndex(ir::Value start, const Indices& at, int64_t limit);
  // clamp(start, 0, limit), as a number and as an index; start is an integer tensor's element.
  V clamped(ir::Value start, const Indices& at, int64_t limit);
  Index clampedIndex(ir::Value start, const Indices& at, int64_t limit);
  // The element's value as an index in [0, extent), without clamping.
  Index elemIndex(const Elem& elem, DType dtype, int64_t extent);
  // 0 <= x < extent, for an index that may be outside; invalid V where it always holds, a constant
  // where it never does.
  V inBounds(const Index& x, int64_t extent);
  V emitIndex(const Index& x);
  Guard guardOf(V condition);
  Elem selectWhere(V condition, const Elem& a, const Elem& b);
  Elem multiplyAdd(const Elem& a, const Elem& b, const Elem& sum, DType in, DType out);
  Elem zero(DType dtype);

  bool streaming = false;  // whole aligned vectors go around the caches
  bool in_doubles = false;  // f32 is multiplied in f64, which makes the same products
  const struct Cluster* cluster = nullptr;  // where what only one choice needs may be left out
  bool keeps_bits = false;  // numbers are what bitsOf says, which are moved and chosen
  std::vector<Access>* record = nullptr;  // where set, accesses are listed here
  std::vector<Bound>* bounds = nullptr;   // and what inBounds() asked here

 private:
  struct Binding {
    enum class Kind : uint8_t { memory, placed, elem } kind = Kind::memory;
    BufferId buffer = 0;
    int64_t offset = 0;
    Placement place;
    Elem elem;
  };
  struct Memo {
    ir::Value value;
    Indices indices;
    Elem elem;
  };
  struct Scope {
    std::unordered_multimap<uint64_t, Memo> memos;
    bool guards_lanes = false;  // and nothing else: what is no vector is the same outside
  };

  Guard both(Guard a, Guard b);
  V conditionOf(const Guard& guard);
  V maskOfGuard();
  bool never(const Guard& guard) const;  // known not to hold
  bool anyVaries(const Indices& indices) const;
  // x as an index of a dimension whose elements are `gap` apart; `inside` gets what must hold for
  // one to be there.
  Index undilate(Index x, int64_t extent, int64_t gap, Guard& inside);
  // `then` where the guard holds. A condition of whole vectors is a branch: the side not taken
  // touches no memory.
  Elem choose(const Guard& where, bool vector, const std::function<Elem()>& then,
              const std::function<Elem()>& otherwise);
  Elem branch(V condition, const std::function<Elem()>& then,
              const std::function<Elem()>& otherwise, bool keeps = false);
  DType heldIn(DType dtype) const;
  DType movedAs(DType dtype) const { return keeps_bits ? bitsOf(dtype) : dtype; }
  Scope& scopeOf(const Elem& elem, const Indices& indices);
  Elem loadBound(const Binding& binding, const Shape& shape, const Indices& indices);
  Elem compute(ir::Value v, const Indices& indices);
  Elem rounded(const Elem& elem, DType dtype);
  Elem elementwise(const ir::Op& op, const Indices& indices);
  std::optional<Elem> chosenByBranch(const ir::Op& select, const Indices& indices);
  bool multipliesFloats(const ir::Op& op) const;
  bool mayMakeTiny(const ir::Op& op, std::span<Elem> args) const;
  Elem constantAt(const ir::Op& op, const Indices& indices);
  Elem iotaAt(const ir::Op& op, const Indices& indices);
  Elem mapAt(const ir::Op& op, const Indices& indices);
  Elem bitcastAt(const ir::Op& op, const Indices& indices);
  V partOfBits(const ir::Op& op, const Indices& indices);
  V joinedBits(const ir::Op& op, const Indices& indices);
  Elem padAt(const ir::Op& op, const Indices& indices);
  Elem concatenateAt(const ir::Op& op, const Indices& indices);
  Elem concatenateFrom(const ir::Op& op, const Indices& indices, size_t i, int64_t start);
  Elem concatenateLanes(std::vector<int64_t> places, int64_t size, int64_t left,
                        const std::function<Elem()>& rest, const std::function<Elem(Index)>& here);
  std::vector<int64_t> knownPlaces(const Index& index) const;
  Elem blended(const std::vector<bool>& from_a, const Elem& a, const Elem& b);
  Elem dynamicSliceAt(const ir::Op& op, const Indices& indices);
  Elem dynamicUpdateSliceAt(const ir::Op& op, const Indices& indices);
  Elem gatherAt(const ir::Op& op, const Indices& indices);
  std::vector<Elem> reduceAt(const ir::Op& op, const Indices& indices);
  std::vector<Elem> reduceWindowAt(const ir::Op& op, const Indices& indices);
  Elem factorAt(const ir::Op& op, size_t operand, const Indices& indices);
  Elem addUpProducts(const ir::Op& op, const class Contraction& product, const Indices& indices,
                     const std::function<Elem(const Indices&, const Elem&)>& next);
  Elem dotAt(const ir::Op& op, const Indices& indices);
  Guard insideInput(const ir::Op& op, Indices& places);
  Elem convolutionAt(const ir::Op& op, const Indices& indices);

  void storeOne(BufferId buffer, const Index& index, V re, V im);
  void storeLine(BufferId buffer, const Index& index, V re, V im);
  void storeApart(BufferId buffer, const Index& index, V re, V im);
  void storePairs(BufferId buffer, V at, int64_t offset, V re, V im, V mask);
  Elem loadStored(BufferId buffer, bool complex, const Index& index, bool strays);
  Elem loadOne(BufferId buffer, bool complex, const Index& index);
  Elem loadLine(BufferId buffer, bool complex, const Index& index, int64_t step, V mask,
                bool strays);
  V loadApart(BufferId buffer, const Index& index, V mask);
  V lookUp(BufferId buffer, const Index& index, V mask);
  bool pairsFit(BufferId buffer) const;
  V loadStrided(BufferId buffer, const Index& index, int step);
  int64_t mostApart(Scalar stored, V mask) const;
  V loadStridedMasked(BufferId buffer, const Index& index, int step, V mask);
  V loadPlacesMasked(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places, V mask);
  V loadNear(BufferId buffer, const Index& index, V mask);
  // emitter_runs.cc; invalid where there are too many.
  V loadRuns(BufferId buffer, const Index& base, std::span<const int64_t> places);
  V loadInOrder(BufferId buffer, const Index& base, std::span<const int64_t> places, V mask);
  V pickOfSmall(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places);
  bool isScratch(BufferId buffer) const { return b_.kernel().buffers[buffer].param < 0; }
  void alignToStored(BufferId buffer, int64_t before, int64_t& offset,
                     std::vector<int64_t>& places) const;
  V loadPlaces(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places);
  V loadSideBySide(BufferId buffer, V at, int64_t offset, std::span<const int64_t> places,
                   int64_t width);
  int64_t wholeVector(BufferId buffer) const;

  Builder& b_;
  IndexSpace& space_;
  const ir::Module& m_;
  int lanes_;
  Guard guard_;
  int region_depth_ = 0;
  std::unordered_map<uint32_t, Binding> bindings_;
  std::map<std::pair<uint32_t, int64_t>, V> starts_;  // by value and limit
  std::vector<Scope> scopes_;
};

}  // namespace tercel::kernel
