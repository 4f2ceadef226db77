#include "compiler/stablehlo/attr_converter.h"

#include <algorithm>

#include "compiler/stablehlo/attr_text.h"
#include "compiler/stablehlo/wire_access.h"
#include "compiler/stablehlo/wire_codes.h"

namespace tercel::stablehlo {
namespace {

// Lists of this many integers describe dimensions; no op has more.
constexpr uint64_t kMaxInts = 2 * kMaxRank;

Status wrongKind(const WireModule& wire, std::string_view name, uint32_t attr) {
  const WireAttr& a = wire.attrs[attr];
  if (a.kind == AttrKind::Text) return unimplemented("attribute ", name, " in text form: ", a.text);
  if (a.kind == AttrKind::Unknown)
    return unimplemented("attribute ", name, " of unknown encoding ", a.code, " of ", a.text);
  return invalidArgument("attribute ", name, " is a ", kindName(a.kind));
}

std::vector<std::byte> payload(const Elements& e) {
  auto first = reinterpret_cast<const std::byte*>(e.bytes.data());
  if (!e.is_boolean) return {first, first + e.bytes.size()};
  bool is_splat = e.packing == Packing::splat || e.packing == Packing::all_true;
  std::vector<std::byte> bytes(is_splat ? 1 : e.count);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(elementAt(e, i) != 0);
  return bytes;
}

}  // namespace

Status AttrConverter::gather(const WireOp& op, const OpRow& row, OpAttrs* attrs) const {
  if (row.attrs.empty()) return {};
  if (op.properties.empty()) return gatherFromDictionary(op, row, attrs);
  ErrorSink sink;
  ByteCursor cursor(op.properties, wire_.origin, sink);
  for (size_t i = 0; i < row.attrs.size(); ++i)
    attrs->index[i] = cursor.index(wire_.attrs.size(), "attribute");
  if (sink.ok() && !cursor.atEnd()) cursor.fail(cat("more properties than ", row.name, " has"));
  return sink.status();
}

Status AttrConverter::gatherFromDictionary(const WireOp& op, const OpRow& row,
                                           OpAttrs* attrs) const {
  std::fill_n(attrs->index, row.attrs.size(), kNone);
  auto entries = listOf(wire_, op.attrs, AttrKind::Dictionary);
  for (size_t i = 0; entries && i + 1 < entries->size(); i += 2) {
    std::optional<std::string_view> name = textOf(wire_, (*entries)[i]);
    for (size_t k = 0; name && k < row.attrs.size(); ++k)
      if (row.attrs[k].name == *name) attrs->index[k] = (*entries)[i + 1];
  }
  for (size_t k = 0; k < row.attrs.size(); ++k)
    if (attrs->index[k] == kNone)
      return invalidArgument("attribute ", row.attrs[k].name, " is missing");
  return {};
}

Status AttrConverter::convert(const OpAttr& rule, uint32_t attr, ir::Op& op) {
  switch (rule.rule) {
    case AttrRule::ints: {
      ir::Ints list;
      TERCEL_TRY(ints(attr, &list).within(rule.name));
      op.attrs.emplace_back(rule.key, std::move(list));
      return {};
    }
    case AttrRule::literal: {
      ir::Literal value;
      TERCEL_TRY(literal(attr, &value));
      op.attrs.emplace_back(rule.key, std::move(value));
      return {};
    }
    case AttrRule::integer:
    case AttrRule::number:
    case AttrRule::boolean: return convertValue(rule, attr, op);
    case AttrRule::text: return addText(rule, attr, textOf(wire_, attr), op);
    case AttrRule::choice: return convertChoice(rule, attr, op);
    case AttrRule::dictionary: return convertDictionary(rule, attr, op);
    case AttrRule::precision: return convertPrecision(rule, attr, op);
    case AttrRule::dtype: return convertDType(rule, attr, op);
    default: return checkDefault(rule, attr);
  }
}

Status AttrConverter::convertValue(const OpAttr& rule, uint32_t attr, ir::Op& op) {
  if (rule.rule == AttrRule::boolean) {
    std::optional<bool> value = boolOf(wire_, attr);
    if (!value) return wrongKind(wire_, rule.name, attr);
    if (*value) op.attrs.emplace_back(rule.key, true);
    return {};
  }
  if (rule.rule == AttrRule::number) {
    std::optional<double> value = numberOf(wire_, attr);
    if (!value) return wrongKind(wire_, rule.name, attr);
    op.attrs.emplace_back(rule.key, *value);
    return {};
  }
  std::optional<int64_t> value = integerOf(wire_, attr);
  if (wire_.attrs[attr].kind == AttrKind::CustomCallApiVersion)
    value = static_cast<int64_t>(wire_.attrs[attr].bits);
  if (!value) return wrongKind(wire_, rule.name, attr);
  op.attrs.emplace_back(rule.key, *value);
  return {};
}

Status AttrConverter::convertChoice(const OpAttr& rule, uint32_t attr, ir::Op& op) {
  std::string_view spelling = spellingOf(wire_.attrs[attr]);
  if (wire_.attrs[attr].kind != rule.choice || spelling.empty())
    return wrongKind(wire_, rule.name, attr);
  return spelling == "NOTYPE" ? Status() : addText(rule, attr, spelling, op);
}

Status AttrConverter::addText(const OpAttr& rule, uint32_t attr,
                              std::optional<std::string_view> text, ir::Op& op) {
  if (!text) return wrongKind(wire_, rule.name, attr);
  TERCEL_TRY(budget_.spend(text->size()));
  if (!text->empty()) op.attrs.emplace_back(rule.key, std::string(*text));
  return {};
}

Status AttrConverter::convertDictionary(const OpAttr& rule, uint32_t attr, ir::Op& op) {
  auto entries = listOf(wire_, attr, AttrKind::Dictionary);
  if (!entries) return addText(rule, attr, textOf(wire_, attr), op);
  if (entries->empty()) return {};
  std::string text;
  Status printed = attrText(wire_, attr, budget_, &text).within(rule.name);
  // A composite means its decomposition, whatever its attributes say.
  bool optional = op.kind == ir::OpKind::composite_ && printed.code() == Code::unimplemented;
  if (!printed.ok() && !optional) return printed;
  if (printed.ok()) op.attrs.emplace_back(rule.key, std::move(text));
  std::optional<int64_t> k = integerOf(wire_, entryOf(wire_, attr, "k"));
  if (k && op.kind == ir::OpKind::composite_) op.attrs.emplace_back(ir::AttrKey::k, *k);
  return {};
}

Status AttrConverter::convertPrecision(const OpAttr& rule, uint32_t attr, ir::Op& op) {
  auto list = listOf(wire_, attr);
  if (!list) return wrongKind(wire_, rule.name, attr);
  const WireAttr* highest = nullptr;
  for (uint32_t item : *list) {
    const WireAttr& a = wire_.attrs[item];
    if (a.kind != AttrKind::Precision || spellingOf(a).empty())
      return wrongKind(wire_, rule.name, item);
    if (highest == nullptr || a.bits > highest->bits) highest = &a;
  }
  if (highest != nullptr && highest->bits > 0)
    op.attrs.emplace_back(rule.key, std::string(spellingOf(*highest)));
  return {};
}

Status AttrConverter::convertDType(const OpAttr& rule, uint32_t attr, ir::Op& op) {
  const WireAttr& a = wire_.attrs[attr];
  if (a.kind != AttrKind::Type) return wrongKind(wire_, rule.name, attr);
  if (wire_.types[a.type].kind == TypeKind::None) return {};
  std::optional<DType> dtype = dtypeOf(wire_, a.type);
  if (!dtype) return unimplemented(rule.name, ' ', typeText(wire_, a.type));
  op.attrs.emplace_back(rule.key, std::string(dtypeName(*dtype)));
  return {};
}

Status AttrConverter::checkDefault(const OpAttr& rule, uint32_t attr) {
  const WireAttr& a = wire_.attrs[attr];
  if (rule.rule == AttrRule::ignored) return {};
  if (a.kind != AttrKind::ResultAccuracy) return wrongKind(wire_, rule.name, attr);
  std::string_view mode = spellingOf(wire_.attrs[wire_.itemsOf(a.items)[0]]);
  if (mode == "DEFAULT" || mode == "HIGHEST") return {};
  return unimplemented(rule.name, " other than DEFAULT and HIGHEST");
}

Status AttrConverter::ints(uint32_t attr, ir::Ints* ints) {
  std::optional<Elements> e = elementsOf(wire_, attr);
  bool is_number = e && wire_.types[e->type].kind >= TypeKind::Integer &&
                   wire_.types[e->type].kind <= TypeKind::Index && e->size <= sizeof(int64_t);
  if (!is_number) return wrongKind(wire_, "of integers", attr);
  if (e->count > kMaxInts) return unimplemented("an attribute of ", e->count, " integers");
  TERCEL_TRY(budget_.spend(8 * e->count));
  ints->resize(e->count);
  for (uint64_t i = 0; i < e->count; ++i) (*ints)[i] = elementAt(*e, i);
  return {};
}

Status AttrConverter::literal(uint32_t attr, ir::Literal* literal) {
  uint32_t& id = literal_ids_[attr];
  if (id == kNone) {
    ir::Literal made;
    TERCEL_TRY(makeLiteral(attr, &made));
    id = static_cast<uint32_t>(literals_.size());
    literals_.push_back(std::move(made));
  }
  *literal = literals_[id];
  return {};
}

Status AttrConverter::makeLiteral(uint32_t attr, ir::Literal* literal) {
  const WireAttr& a = wire_.attrs[attr];
  if (a.kind != AttrKind::Tensor) return wrongKind(wire_, "value", attr);
  std::span<const ir::Type> leaves;
  TERCEL_TRY(types_.leaves(a.type, &leaves));
  std::optional<Elements> e = elementsOf(wire_, attr);
  if (!e || leaves.size() != 1)
    return invalidArgument("a constant of ", a.text.size(), " bytes and type ",
                           typeText(wire_, a.type));
  *literal = ir::Literal(leaves[0].shape, payload(*e));
  return {};
}

}  // namespace tercel::stablehlo
