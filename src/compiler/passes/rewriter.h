// The walk that rewrites a module in place, shared by the passes.
//
// Ops are visited once, in order, their operands already replaced by what stands for them now. A
// rule either keeps the op (it may edit it) or replaces its results. Ops a rule emits go in front
// of the visited one and are visited themselves at once, so chains of rules settle in one walk.
#pragma once
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/module.h"

namespace tercel::passes {

class Rewriter {
 public:
  explicit Rewriter(ir::Module& module) : module_(module) {}
  virtual ~Rewriter() = default;

  // Walks every function; true where anything changed.
  bool run();

  ir::Module& module() { return module_; }
  const ir::Module& module() const { return module_; }
  const ir::Op& op(ir::OpId id) const { return module_.op(id); }
  const Shape& shape(ir::Value v) const { return module_.shape(v); }
  // The op that defines v; null for a region's argument, and where it is not of `kind`.
  const ir::Op* def(ir::Value v) const { return module_.def(v); }
  const ir::Op* def(ir::Value v, ir::OpKind kind) const {
    const ir::Op* op = module_.def(v);
    return op && op->kind == kind ? op : nullptr;
  }

  // A new op with one result, in front of the op being visited.
  ir::Value emit(ir::OpKind kind, ir::Values operands, Shape result, ir::Attrs attrs = {});
  ir::Value constant(ir::Literal literal);
  ir::Value splat(Shape shape, double number);
  // A splat constant of v's shape.
  ir::Value like(ir::Value v, double number) { return splat(shape(v), number); }
  ir::Value unary(ir::OpKind kind, ir::Value v);
  ir::Value binary(ir::OpKind kind, ir::Value a, ir::Value b);
  ir::Value convert(ir::Value v, DType to);
  ir::Value compare(ir::Value a, ir::Value b, std::string_view direction, std::string type = {});
  ir::Value select(ir::Value pred, ir::Value on_true, ir::Value on_false);
  ir::Value broadcast(ir::Value v, Dims to, ir::Ints broadcast_dimensions);
  ir::Value reshape(ir::Value v, Dims to);
  ir::Value transpose(ir::Value v, ir::Ints permutation);
  ir::Value reverse(ir::Value v, ir::Ints dimensions);
  ir::Value slice(ir::Value v, ir::Ints start, ir::Ints limit, ir::Ints strides);
  // From `first` to before `last` along the dimension.
  ir::Value sliceAlong(ir::Value v, size_t dimension, int64_t first, int64_t last);
  // starts: a single element for each dimension.
  ir::Value dynamicSlice(ir::Value v, std::span<const ir::Value> starts, const Dims& sizes);
  ir::Value dynamicUpdateSlice(ir::Value v, ir::Value update, std::span<const ir::Value> starts);
  // A reduction like `old`, whose body moves over, of other inputs over the dimensions.
  ir::Values reduceLike(const ir::Op& old, ir::Values inputs, const ir::Ints& dimensions);
  // Any number of results; its types are the caller's.
  ir::OpId emitOp(ir::OpKind kind, ir::Values operands, std::span<const ir::Type> types,
                  ir::Attrs attrs = {});
  // An op made elsewhere, placed here and visited like an emitted one. False: it was replaced.
  bool place(ir::OpId id);
  // The same for an op whose regions have not been walked yet.
  void placeUnwalked(ir::OpId id) { step(id); }

  // From here on `by` stands for `old`.
  void replace(ir::Value old, ir::Value by);
  void replaceAll(const ir::Op& old, std::span<const ir::Value> by);
  ir::Value now(ir::Value v);
  // Moves a region's ops in front of the visited op, `args` standing for its arguments, and returns
  // what it returned. The region must not be used again.
  ir::Values inlineRegion(ir::RegionId region, std::span<const ir::Value> args);
  void setChanged() { changed_ = true; }
  // How many operands and region results read v, those of the ops being visited left out; an upper
  // bound, as ops may have become dead on the way. Only after countUses().
  uint32_t otherUses(ir::Value v) const { return v.index < uses_.size() ? uses_[v.index] : 0; }
  // Nothing will read the op: what it reads has a reader less.
  void abandon(const ir::Op& op) { use(op.operands, -1); }
  // Whether an op of the region that is being walked makes v: work never moves into a loop.
  bool isMadeHere(ir::Value v) const;
  // What `emit` returns, while an op that is yet to be emitted counts as a reader of v.
  template <typename Emit>
  ir::Value beforeReader(ir::Value v, const Emit& emit) {
    use({v}, 1);
    const ir::Value result = emit();
    use({now(v)}, -1);
    return result;
  }

 protected:
  void countUses();
  // Before the regions of the op are walked. True: its results are replaced, drop it.
  virtual bool enter(ir::OpId) { return false; }
  // After them. True: its results are replaced, drop it.
  virtual bool visit(ir::OpId id) = 0;
  // `owner` is the op the region belongs to; invalid: a function.
  virtual void enterRegion(ir::RegionId, ir::OpId /*owner*/) {}
  virtual void leaveRegion(ir::RegionId, ir::OpId /*owner*/) {}

 private:
  void walk(ir::RegionId region, ir::OpId owner);
  void step(ir::OpId id);
  void remap(ir::Values& values);
  bool visitUncounted(ir::OpId id);
  void countUsesIn(ir::RegionId region);
  void use(const ir::Values& values, int32_t times);

  ir::Module& module_;
  std::vector<ir::Value> forward_;  // by value index; invalid or out of range: itself
  std::vector<uint32_t> uses_;      // by value index
  bool counts_uses_ = false;
  std::vector<ir::OpId>* out_ = nullptr;
  ir::RegionId region_;             // that is being walked
  std::vector<ir::RegionId> home_;  // by op: the region it was visited in
  ir::LocId loc_;
  int depth_ = 0;
  bool changed_ = false;
};

}  // namespace tercel::passes
