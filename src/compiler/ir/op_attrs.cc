#include "compiler/ir/op_attrs.h"

#include <bitset>

#include "core/status.h"

namespace tercel::ir {
namespace {

constexpr std::string_view kOpsOf[] = {
#define ATTR(name, kind, ops) ops,
#include "compiler/ir/attrs.def"
};

using OpSet = std::bitset<256>;

OpSet parseOps(std::string_view names) {
  OpSet set;
  while (!names.empty()) {
    std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    OpKind kind;
    TERCEL_CHECK(opKindFromName(name, &kind), "attrs.def names the unknown op ", name);
    set.set(static_cast<size_t>(kind));
  }
  return set;
}

}  // namespace

bool takesAttr(OpKind kind, AttrKey key) {
  static const auto* sets = [] {
    auto* all = new std::vector<OpSet>;
    for (std::string_view names : kOpsOf) all->push_back(parseOps(names));
    return all;
  }();
  return (*sets)[static_cast<size_t>(key)].test(static_cast<size_t>(kind));
}

}  // namespace tercel::ir
