#include "compiler/ir/op_use.h"

#include <algorithm>


namespace tercel::ir {
namespace {

constexpr size_t kDescribedOperands = 12;

std::string listOf(std::span<const int64_t> list) { return tercel::toString(list); }

std::string regionName(const OpUse& use, size_t i) {
  return use.regions.size() == 1 ? std::string("its region") : cat("region ", i);
}

}  // namespace

const Attr* OpUse::find(AttrKey key) const {
  for (const auto& [k, attr] : attrs)
    if (k == key) return &attr;
  return nullptr;
}

int64_t OpUse::integer(AttrKey key) const {
  const Attr* attr = find(key);
  return attr ? std::get<int64_t>(*attr) : 0;
}

const Ints& OpUse::ints(AttrKey key) const {
  static const Ints none;
  const Attr* attr = find(key);
  return attr ? std::get<Ints>(*attr) : none;
}

std::string_view OpUse::symbol(AttrKey key) const {
  const Attr* attr = find(key);
  return attr ? std::string_view(std::get<std::string>(*attr)) : std::string_view();
}

std::string OpUse::describe() const {
  std::string text = cat(opName(kind), "(");
  for (size_t i = 0; i < count(); ++i) {
    if (i) text += ", ";
    if (i == kDescribedOperands) {
      text += cat("and ", count() - i, " more");
      break;
    }
    text += toString(type(i));
  }
  return text + ")";
}

std::string toString(const Type& type) {
  return type.is_token ? "token" : tercel::toString(type.shape);
}

std::string toString(std::span<const Type> types) {
  std::string text = "(";
  for (size_t i = 0; i < types.size(); ++i) {
    if (i) text += ", ";
    text += toString(types[i]);
  }
  return text + ")";
}

Status checkSize(const OpUse& use, AttrKey key, size_t size) {
  size_t found = use.ints(key).size();
  if (found == size) return {};
  return use.error(attrName(key), " has ", found, " elements, expected ", size);
}

Status checkInRange(const OpUse& use, AttrKey key, int64_t limit) {
  int64_t value = use.integer(key);
  if (value >= 0 && value < limit) return {};
  return use.error(attrName(key), " ", value, " is not in [0, ", limit, ")");
}

Status checkAxes(const OpUse& use, AttrKey key, int64_t rank, Order order) {
  const Ints& axes = use.ints(key);
  for (int64_t axis : axes)
    if (axis < 0 || axis >= rank)
      return use.error(attrName(key), " ", listOf(axes), " is not in [0, ", rank, ")");
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return use.error(attrName(key), " ", listOf(axes), " names a dimension twice");
  if (order == Order::sorted && sorted != axes)
    return use.error(attrName(key), " ", listOf(axes), " is not sorted");
  return {};
}

Status checkDisjoint(const OpUse& use, AttrKey a, AttrKey b) {
  for (int64_t axis : use.ints(a))
    if (contains(use.ints(b), axis))
      return use.error("dimension ", axis, " is in both ", attrName(a), " and ", attrName(b));
  return {};
}

Status checkAtLeast(const OpUse& use, AttrKey key, int64_t minimum) {
  for (int64_t value : use.ints(key))
    if (value < minimum)
      return use.error(attrName(key), " ", listOf(use.ints(key)), " has an element below ",
                       minimum);
  return {};
}

Status checkRegionArgs(const OpUse& use, size_t i, std::span<const Type> types) {
  Types found;
  for (Value v : use.region(i).args) found.push_back(use.module.type(v));
  if (std::ranges::equal(found, types)) return {};
  return use.error(regionName(use, i), " takes ", toString(found), ", expected ", toString(types));
}

Status checkRegionResults(const OpUse& use, size_t i, std::span<const Type> types) {
  Types found = regionResultTypes(use, i);
  if (std::ranges::equal(found, types)) return {};
  return use.error(regionName(use, i), " returns ", toString(found), ", expected ",
                   toString(types));
}

Types regionResultTypes(const OpUse& use, size_t i) {
  Types types;
  for (Value v : use.region(i).results) types.push_back(use.module.type(v));
  return types;
}

Status pushDim(const OpUse& use, Dims& dims, Wide size) {
  if (size < 0 || size > (Wide{1} << 62))
    return use.error("dimension ", dims.size(), " of the result would be ",
                     size < 0 ? "negative" : "too large");
  dims.push_back(static_cast<int64_t>(size));
  return {};
}

}  // namespace tercel::ir
