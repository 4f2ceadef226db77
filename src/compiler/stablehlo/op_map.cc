#include "compiler/stablehlo/op_map.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/status.h"

namespace tercel::stablehlo {
namespace {

constexpr OpAttr kRules[] = {
#define ATTR_RULE(name, rule, key) {#name, AttrRule::rule, ir::AttrKey::key, {}},
#define ATTR_CHOICE(name, kind, key) {#name, AttrRule::choice, ir::AttrKey::key, AttrKind::kind},
#define ATTR_DEFAULT(name, rule) {#name, AttrRule::rule, {}, {}},
#include "compiler/stablehlo/attr_map.def"
};

struct Definition {
  OpRow row;
  std::string_view attrs;
};

constexpr Definition kDefinitions[] = {
#define WIRE_OP(dialect, name, kind, attributes) \
  {{#dialect, name, OpForm::op, ir::OpKind::kind##_, {}}, attributes},
#define WIRE_FORM(dialect, name, form, attributes) \
  {{#dialect, name, OpForm::form, {}, {}}, attributes},
#define WIRE_DYNAMIC(dialect, name, kind, given, attributes) \
  {{#dialect, name, OpForm::dynamic, ir::OpKind::kind##_, {}, given}, attributes},
#define WIRE_REFUSED(dialect, name, attributes) \
  {{#dialect, name, OpForm::refused, {}, {}}, attributes},
#include "compiler/stablehlo/op_map.def"
};

OpAttr attrOf(std::string_view name) {
  for (const OpAttr& rule : kRules)
    if (rule.name == name) return rule;
  return {name, AttrRule::none, {}, {}};
}

class Table {
 public:
  Table() {
    // Sized first: the rows keep spans of it.
    size_t attrs = 0;
    for (const Definition& d : kDefinitions) attrs += words(d.attrs);
    attrs_.reserve(attrs);
    for (const Definition& d : kDefinitions) rows_.push_back(makeRow(d));
    std::sort(rows_.begin(), rows_.end(),
              [](const OpRow& a, const OpRow& b) { return key(a) < key(b); });
  }

  const OpRow* find(std::string_view dialect, std::string_view name) const {
    auto wanted = std::make_tuple(dialect, name);
    auto row = std::partition_point(rows_.begin(), rows_.end(),
                                    [&](const OpRow& r) { return key(r) < wanted; });
    return row != rows_.end() && key(*row) == wanted ? &*row : nullptr;
  }
  std::span<const OpRow> rows() const { return rows_; }

 private:
  static std::tuple<std::string_view, std::string_view> key(const OpRow& row) {
    return {row.dialect, row.name};
  }
  static size_t words(std::string_view text) {
    return text.empty() ? 0 : 1 + static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
  }

  OpRow makeRow(const Definition& definition) {
    size_t first = attrs_.size();
    for (std::string_view rest = definition.attrs; !rest.empty();) {
      std::string_view word = rest.substr(0, rest.find(' '));
      attrs_.push_back(attrOf(word));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    OpRow row = definition.row;
    row.attrs = std::span<const OpAttr>(attrs_).subspan(first);
    TERCEL_CHECK(row.attrs.size() <= kMaxOpAttrs, row.name);
    return row;
  }

  std::vector<OpAttr> attrs_;
  std::vector<OpRow> rows_;
};

const Table& table() {
  static const Table table;
  return table;
}

}  // namespace

const OpRow* findOp(std::string_view dialect, std::string_view name) {
  return table().find(dialect, name);
}

std::span<const OpRow> allOps() { return table().rows(); }

}  // namespace tercel::stablehlo
