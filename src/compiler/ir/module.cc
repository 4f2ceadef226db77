#include "compiler/ir/module.h"

#include <iterator>
#include <unordered_map>

#include "core/status.h"

namespace tercel::ir {
namespace {

struct OpRow {
  std::string_view name;
  int operands;
  int regions;
  OpClass cls;
};
constexpr OpRow kOps[] = {
#define OP(name, operands, regions, cls) {#name, operands, regions, OpClass::cls},
#include "compiler/ir/ops.def"
};

struct AttrRow {
  std::string_view name;
  AttrKind kind;
};
constexpr AttrRow kAttrs[] = {
#define ATTR(name, kind, ops) {#name, AttrKind::kind},
#include "compiler/ir/attrs.def"
};

const OpRow& row(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }
const AttrRow& row(AttrKey key) { return kAttrs[static_cast<size_t>(key)]; }

template <class Enum, class Rows>
bool fromName(const Rows& rows, std::string_view name, Enum* out) {
  static const auto* index = [&] {
    auto* map = new std::unordered_map<std::string_view, size_t>;
    for (size_t i = 0; i < std::size(rows); ++i) map->emplace(rows[i].name, i);
    return map;
  }();
  auto found = index->find(name);
  if (found == index->end()) return false;
  *out = static_cast<Enum>(found->second);
  return true;
}

}  // namespace

std::string_view opName(OpKind kind) { return row(kind).name; }
OpClass opClass(OpKind kind) { return row(kind).cls; }

bool commutes(OpKind kind) {
  switch (kind) {
    case OpKind::add_: case OpKind::and_: case OpKind::maximum_: case OpKind::minimum_:
    case OpKind::multiply_: case OpKind::or_: case OpKind::xor_:
      return true;
    default: return false;
  }
}

bool isCostly(OpKind kind) {
  switch (kind) {
    case OpKind::acos_: case OpKind::acosh_: case OpKind::asin_: case OpKind::asinh_:
    case OpKind::atan_: case OpKind::atan2_: case OpKind::atanh_: case OpKind::cbrt_:
    case OpKind::bessel_i0e_: case OpKind::bessel_i1e_: case OpKind::cosh_: case OpKind::cosine_:
    case OpKind::digamma_: case OpKind::divide_: case OpKind::erf_: case OpKind::erf_inv_:
    case OpKind::erfc_: case OpKind::exp2_: case OpKind::lgamma_:
    case OpKind::exponential_: case OpKind::exponential_minus_one_: case OpKind::log_:
    case OpKind::log_plus_one_: case OpKind::logistic_: case OpKind::power_:
    case OpKind::remainder_: case OpKind::rsqrt_: case OpKind::sine_: case OpKind::sinh_:
    case OpKind::sqrt_: case OpKind::tan_: case OpKind::tanh_:
      return true;
    default: return false;
  }
}
int opOperandCount(OpKind kind) { return row(kind).operands; }
int opRegionCount(OpKind kind) { return row(kind).regions; }
std::string_view attrName(AttrKey key) { return row(key).name; }
AttrKind attrKind(AttrKey key) { return row(key).kind; }
bool opKindFromName(std::string_view name, OpKind* kind) { return fromName(kOps, name, kind); }
bool attrKeyFromName(std::string_view name, AttrKey* key) { return fromName(kAttrs, name, key); }

const Attr* Op::find(AttrKey key) const {
  for (const auto& [k, attr] : attrs)
    if (k == key) return &attr;
  return nullptr;
}

void Op::set(AttrKey key, Attr value) {
  for (auto& [k, attr] : attrs)
    if (k == key) {
      attr = std::move(value);
      return;
    }
  attrs.emplace_back(key, std::move(value));
}

int64_t Op::integer(AttrKey key) const {
  const Attr* attr = find(key);
  return attr ? std::get<int64_t>(*attr) : 0;
}

bool Op::boolean(AttrKey key) const {
  const Attr* attr = find(key);
  return attr && std::get<bool>(*attr);
}

const Ints& Op::ints(AttrKey key) const {
  static const Ints none;
  const Attr* attr = find(key);
  return attr ? std::get<Ints>(*attr) : none;
}

const std::string& Op::symbol(AttrKey key) const {
  static const std::string none;
  const Attr* attr = find(key);
  return attr ? std::get<std::string>(*attr) : none;
}

const Literal& Op::literal() const {
  const Attr* attr = find(AttrKey::value);
  TERCEL_CHECK(attr, opName(kind), " has no value");
  return std::get<Literal>(*attr);
}

RegionId Module::addRegion() {
  regions_.emplace_back();
  return {static_cast<uint32_t>(regions_.size() - 1)};
}

Value Module::addArg(RegionId id, Type type) {
  Region& r = region(id);
  values_.push_back({std::move(type), OpId{}, static_cast<uint32_t>(r.args.size())});
  Value v{static_cast<uint32_t>(values_.size() - 1)};
  r.args.push_back(v);
  return v;
}

OpId Module::addOp(OpKind kind, Values operands, std::span<const Type> result_types) {
  OpId id{static_cast<uint32_t>(ops_.size())};
  Op& op = ops_.emplace_back();
  op.kind = kind;
  op.operands = std::move(operands);
  for (uint32_t i = 0; i < result_types.size(); ++i) {
    values_.push_back({result_types[i], id, i});
    op.results.push_back(Value{static_cast<uint32_t>(values_.size() - 1)});
  }
  return id;
}

LocId Module::addLocation(std::string text) {
  locations.push_back(std::move(text));
  return {static_cast<uint32_t>(locations.size() - 1)};
}

std::string_view Module::location(LocId loc) const {
  return loc.index < locations.size() ? std::string_view(locations[loc.index]) : "unknown";
}

const Function* Module::find(std::string_view function) const {
  for (const Function& f : functions)
    if (f.name == function) return &f;
  return nullptr;
}

const Function& Module::main() const {
  const Function* f = find("main");
  TERCEL_CHECK(f, "the module has no function main");
  return *f;
}

Function& Module::main() { return const_cast<Function&>(std::as_const(*this).main()); }

const Op* Module::def(Value v) const {
  OpId id = value(v).def;
  return id.valid() ? &op(id) : nullptr;
}

}  // namespace tercel::ir
