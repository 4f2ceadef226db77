// An update at known places that arithmetic alone reads: what lies around it is joined to it, and
// the reader's kernel reads each part where it lies. Written into memory, the array would be copied,
// and passed over again.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
namespace {

using namespace ir;

constexpr int64_t kFewestBytes = 16 << 10;  // less is copied in no time
constexpr int64_t kShortestRow = 64;        // shorter ones are not worth a loop for each part
constexpr int kMostCuts = 4;                // dimensions, each of which makes two parts more
constexpr int kMostUpdates = 4;             // one after another

class UpdateJoining : public Rewriter {
 public:
  explicit UpdateJoining(Module& module) : Rewriter(module) { countUses(); }

 private:
  // In loops, arrays are updated where they are.
  void enterRegion(RegionId, OpId owner) override { depth_ += owner.valid(); }
  void leaveRegion(RegionId, OpId owner) override { depth_ -= owner.valid(); }

  bool visit(OpId id) override {
    if (depth_ > 0 || !isElementwise(op(id).kind)) return false;
    for (const Value v : Values(op(id).operands)) {
      const Value joined = joinedUpdate(v, 0, 0);
      if (!joined.valid()) continue;
      std::ranges::replace(module().op(id).operands, v, joined);
      setChanged();
    }
    return false;
  }

  // Invalid where v is no such update. `updates` have been made of it, which cut it so often.
  Value joinedUpdate(Value v, int updates, int cuts) {
    const Op* update = def(v, OpKind::dynamic_update_slice_);
    if (!update || otherUses(v) > (updates > 0) || updates == kMostUpdates) return {};
    const Shape all = shape(v), part = shape(update->operand(1));
    auto starts = scalarIntegers(*this, std::span(update->operands).subspan(2));
    if (!starts || part.elements() == 0 || all.elements() * byteSize(all.dtype) < kFewestBytes)
      return {};
    for (size_t d = 0; d < all.dims.size(); ++d) {
      (*starts)[d] = std::clamp<int64_t>((*starts)[d], 0, all.dims[d] - part.dims[d]);
      cuts += part.dims[d] < all.dims[d];
    }
    const bool cuts_rows = all.rank() > 1 && part.dims.back() < all.dims.back();
    if (cuts > kMostCuts || (cuts_rows && all.dims.back() < kShortestRow)) return {};
    Value around = update->operand(0);
    const Value written = update->operand(1);
    if (def(around, OpKind::dynamic_update_slice_))
      around = joinedUpdate(around, updates + 1, cuts);
    return around.valid() ? joined(around, written, *starts) : Value{};
  }

  Value joined(Value around, Value part, const Ints& starts) {
    const Dims all = shape(around).dims;
    Ints first = starts, end = starts;
    for (size_t d = 0; d < all.size(); ++d) end[d] += shape(part).dims[d];
    for (size_t d = all.size(); d-- > 0;) {
      const int64_t begins = first[d], ends = end[d];
      auto of = [&](int64_t from, int64_t to) {
        first[d] = from, end[d] = to;
        return slice(around, first, end, Ints(all.size(), 1));
      };
      Values parts;
      if (begins > 0) parts.push_back(of(0, begins));
      parts.push_back(part);
      if (ends < all[d]) parts.push_back(of(ends, all[d]));
      first[d] = 0, end[d] = all[d];
      if (parts.size() == 1) continue;
      Shape whole = shape(part);
      whole.dims[d] = all[d];
      part = emit(OpKind::concatenate_, parts, whole,
                  {{AttrKey::dimension, static_cast<int64_t>(d)}});
    }
    return part;
  }

  int depth_ = 0;
};

}  // namespace

PassResult joinUpdates(Module& module) { return UpdateJoining(module).run(); }

}  // namespace tercel::passes
