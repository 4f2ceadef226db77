#include "compiler/passes/structure.h"

#include <functional>

namespace tercel::passes {
using namespace ir;
namespace {

uint64_t hashShape(const Shape& shape) {
  uint64_t h = static_cast<uint64_t>(shape.dtype);
  for (int64_t d : shape.dims) h = combine(h, static_cast<uint64_t>(d));
  return h;
}

// Three elements; a splat and the same elements written out agree.
uint64_t hashLiteral(const Literal& literal) {
  uint64_t h = hashShape(literal.shape());
  size_t element = byteSize(literal.shape().dtype);
  int64_t count = static_cast<int64_t>(literal.bytes().size() / element);
  if (count == 0) return h;
  for (int64_t at : {int64_t{0}, count / 2, count - 1}) {
    auto bytes = reinterpret_cast<const char*>(literal.bytes().data() + at * element);
    h = combine(h, std::hash<std::string_view>{}({bytes, element}));
  }
  return h;
}

struct HashAttr {
  uint64_t operator()(const Ints& list) const {
    uint64_t h = list.size();
    for (int64_t i : list) h = combine(h, static_cast<uint64_t>(i));
    return h;
  }
  uint64_t operator()(const Literal& literal) const { return hashLiteral(literal); }
  uint64_t operator()(const std::vector<std::string>& list) const { return list.size(); }
  template <class T>
  uint64_t operator()(const T& plain) const {
    return std::hash<T>{}(plain);
  }
};

bool sameAttrs(const Op& a, const Op& b) {
  if (a.attrs.size() != b.attrs.size()) return false;
  for (auto& [key, attr] : a.attrs) {
    const Attr* other = b.find(key);
    if (!other || !(*other == attr)) return false;
  }
  return true;
}

}  // namespace

// Multiply and fold, after the finaliser of splitmix64.
uint64_t combine(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 29);
}

uint64_t structuralHash(const Module& module, const Op& op) {
  uint64_t h = static_cast<uint64_t>(op.kind) + 1;
  for (Value v : op.results) h = combine(h, hashShape(module.shape(v)));
  // Attributes come in any order.
  uint64_t attrs = 0;
  for (auto& [key, attr] : op.attrs)
    attrs += combine(static_cast<uint64_t>(key) + 1, std::visit(HashAttr{}, attr));
  h = combine(h, attrs);
  for (RegionId region : op.regions)
    for (OpId inner : module.region(region).ops)
      h = combine(h, structuralHash(module, module.op(inner)));
  return h;
}

void StructuralEquality::pair(const Values& a, const Values& b) {
  for (size_t i = 0; i < b.size(); ++i) {
    if (b[i].index >= twin_.size()) twin_.resize(module_.valueCount());
    twin_[b[i].index] = a[i];
  }
}

bool StructuralEquality::sameValues(const Values& a, const Values& b) const {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    bool inside = b[i].index < twin_.size() && twin_[b[i].index].valid();
    if (a[i] != (inside ? twin_[b[i].index] : b[i])) return false;
  }
  return true;
}

bool StructuralEquality::sameExceptOperands(const Op& a, const Op& b) {
  if (a.kind != b.kind || a.results.size() != b.results.size()) return false;
  if (a.regions.size() != b.regions.size() || !sameAttrs(a, b)) return false;
  for (size_t i = 0; i < a.results.size(); ++i)
    if (!(module_.type(a.results[i]) == module_.type(b.results[i]))) return false;
  for (size_t i = 0; i < a.regions.size(); ++i)
    if (!sameRegion(a.regions[i], b.regions[i])) return false;
  return true;
}

bool StructuralEquality::sameOp(const Op& a, const Op& b) {
  if (!sameValues(a.operands, b.operands) || !sameExceptOperands(a, b)) return false;
  pair(a.results, b.results);
  return true;
}

bool StructuralEquality::sameRegion(RegionId a, RegionId b) {
  const Region &x = module_.region(a), &y = module_.region(b);
  if (x.args.size() != y.args.size() || x.ops.size() != y.ops.size()) return false;
  for (size_t i = 0; i < x.args.size(); ++i)
    if (!(module_.type(x.args[i]) == module_.type(y.args[i]))) return false;
  pair(x.args, y.args);
  for (size_t i = 0; i < x.ops.size(); ++i)
    if (!sameOp(module_.op(x.ops[i]), module_.op(y.ops[i]))) return false;
  return sameValues(x.results, y.results);
}

}  // namespace tercel::passes
