#include "compiler/ir/verifier.h"

#include "compiler/ir/infer.h"
#include "compiler/ir/op_attrs.h"
#include "compiler/ir/op_use.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify_calls.h"
#include "core/layout.h"

namespace tercel::ir {
namespace {

// Regions nest by recursion; the parser allows no more.
constexpr int kDeepestRegion = 200;

Status verifyAttrs(const Op& op) {
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    AttrKey key = op.attrs[i].first;
    if (!takesAttr(op.kind, key))
      return invalidArgument(attrName(key), " is no attribute of ", opName(op.kind));
    for (size_t j = 0; j < i; ++j)
      if (op.attrs[j].first == key) return invalidArgument(attrName(key), " is given twice");
  }
  return {};
}

class Verifier {
 public:
  explicit Verifier(const Module& module)
      : module_(module),
        is_visible_(module.valueCount(), false),
        op_is_seen_(module.opCount(), false),
        region_is_seen_(module.regionCount(), false) {}

  Status run() {
    for (const Function& f : module_.functions)
      if (Status status = verifyFunction(f); !status.ok()) return status.within(cat("@", f.name));
    return verifyCalls(module_);
  }

 private:
  Status verifyFunction(const Function& f) {
    TERCEL_TRY(verifyRegion(f.body, 0));
    const Region& body = module_.region(f.body);
    if (f.args.size() != body.args.size() || f.results.size() != body.results.size())
      return internalError(f.args.size(), " argument and ", f.results.size(),
                           " result descriptions for ", body.args.size(), " arguments and ",
                           body.results.size(), " results");
    for (size_t i = 0; i < f.args.size(); ++i)
      TERCEL_TRY(verifyLayout(body.args[i], f.args[i].layout).within(cat("argument ", i)));
    for (size_t i = 0; i < f.results.size(); ++i)
      TERCEL_TRY(verifyLayout(body.results[i], f.results[i].layout).within(cat("result ", i)));
    return verifyDonation(f, body);
  }

  Status verifyLayout(Value v, const Ints& layout) {
    if (layout.empty() || isLayout(layout, module_.shape(v).dims.size())) return {};
    return invalidArgument("the layout ", layoutText(layout, layout.size()), " of ",
                           toString(module_.shape(v)));
  }

  Status verifyDonation(const Function& f, const Region& body) {
    std::vector<bool> is_taken(body.results.size(), false);
    for (size_t i = 0; i < f.args.size(); ++i) {
      int64_t to = f.args[i].aliasing_output;
      if (to < 0) continue;
      if (to >= static_cast<int64_t>(is_taken.size()) || is_taken[to])
        return invalidArgument("argument ", i, " aliases result ", to,
                               ", which does not exist or is aliased already");
      is_taken[to] = true;
      if (module_.type(body.args[i]) != module_.type(body.results[to]))
        return invalidArgument("argument ", i, " aliases result ", to, " of another type");
    }
    return {};
  }

  Status verifyRegion(RegionId id, int depth) {
    if (id.index >= region_is_seen_.size()) return internalError("region ", id.index, " is none");
    if (region_is_seen_[id.index]) return internalError("region ", id.index, " is in two places");
    if (depth > kDeepestRegion) return invalidArgument("regions nest deeper than ", kDeepestRegion);
    region_is_seen_[id.index] = true;
    const Region& region = module_.region(id);
    size_t scope = visible_.size();
    for (size_t i = 0; i < region.args.size(); ++i) TERCEL_TRY(define(region.args[i], OpId{}, i));
    for (OpId op : region.ops) TERCEL_TRY(verifyOp(op, depth));
    for (Value v : region.results) TERCEL_TRY(verifyVisible(v, "a region's result"));
    for (; visible_.size() > scope; visible_.pop_back()) is_visible_[visible_.back().index] = false;
    return {};
  }

  Status verifyOp(OpId id, int depth) {
    if (id.index >= op_is_seen_.size()) return internalError("op ", id.index, " is none");
    if (op_is_seen_[id.index])
      return internalError(opName(module_.op(id).kind), " ", id.index, " is in two places");
    op_is_seen_[id.index] = true;
    const Op& op = module_.op(id);
    Status status = verifyParts(id, op, depth);
    if (status.ok()) return {};
    // An error inside a region has named its own place.
    if (inner_error_) return status;
    inner_error_ = true;
    return status.within(cat(module_.location(op.loc), ": in ", describe(id)));
  }

  Status verifyParts(OpId id, const Op& op, int depth) {
    for (Value v : op.operands) TERCEL_TRY(verifyVisible(v, "an operand"));
    for (RegionId region : op.regions) TERCEL_TRY(verifyRegion(region, depth + 1));
    for (size_t i = 0; i < op.results.size(); ++i) TERCEL_TRY(define(op.results[i], id, i));
    return verifyUse(module_, op);
  }

  Status verifyVisible(Value v, std::string_view as) {
    if (v.index >= is_visible_.size()) return internalError(as, " is no value");
    if (is_visible_[v.index]) return {};
    return internalError("%", v.index, ", ", as, ", is not defined before its use");
  }

  // `def` is none for a region's arguments.
  Status define(Value v, OpId def, size_t index) {
    if (v.index >= is_visible_.size()) return internalError("a definition of no value");
    const ValueInfo& info = module_.value(v);
    if (is_visible_[v.index] || info.def != def || info.index != index)
      return internalError("%", v.index, " does not agree with its definition");
    const Shape& shape = info.type.shape;
    if (!sizeIsRepresentable(shape.dims, byteSize(shape.dtype)))
      return invalidArgument("%", v.index, " has the type ", toString(info.type),
                             ", which is too large or negative");
    is_visible_[v.index] = true;
    visible_.push_back(v);
    return {};
  }

  std::string describe(OpId id) const { return cat("'", printOp(module_, id), "'"); }

  const Module& module_;
  std::vector<bool> is_visible_, op_is_seen_, region_is_seen_;
  std::vector<Value> visible_;
  bool inner_error_ = false;
};

}  // namespace

Status verifyUse(const Module& module, const Op& op) {
  TERCEL_TRY(verifyAttrs(op));
  std::vector<Type> types;
  for (Value v : op.results) types.push_back(module.type(v));
  TERCEL_ASSIGN(std::vector<Type> inferred,
                inferTypes(module, op.kind, op.operands, op.attrs, op.regions, types));
  if (inferred == types) return {};
  return invalidArgument("has types ", toString(types), ", inferred are ", toString(inferred));
}

Status verify(const Module& module) { return Verifier(module).run(); }

}  // namespace tercel::ir
