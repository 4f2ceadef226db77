#include "pjrt/named_value.h"

#include "core/overload.h"

namespace tercel::pjrt {
namespace {

PJRT_NamedValue toC(const std::string& name, const NamedValue& value) {
  PJRT_NamedValue c = {};
  c.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  c.name = name.data();
  c.name_size = name.size();
  c.type = static_cast<PJRT_NamedValue_Type>(value.index());
  c.value_size = 1;
  std::visit(Overload{
                 [&](const std::string& v) {
                   c.string_value = v.data();
                   c.value_size = v.size();
                 },
                 [&](int64_t v) { c.int64_value = v; },
                 [&](const std::vector<int64_t>& v) {
                   c.int64_array_value = v.data();
                   c.value_size = v.size();
                 },
                 [&](float v) { c.float_value = v; },
                 [&](bool v) { c.bool_value = v; },
             },
             value);
  return c;
}

Result<NamedValue> fromC(const PJRT_NamedValue& c) {
  switch (c.type) {
    case PJRT_NamedValue_kString:
      if (!c.string_value && c.value_size != 0) break;
      return NamedValue(std::string(c.string_value ? c.string_value : "", c.value_size));
    case PJRT_NamedValue_kInt64:
      return NamedValue(c.int64_value);
    case PJRT_NamedValue_kInt64List:
      if (!c.int64_array_value && c.value_size != 0) break;
      return NamedValue(
          std::vector<int64_t>(c.int64_array_value, c.int64_array_value + c.value_size));
    case PJRT_NamedValue_kFloat:
      return NamedValue(c.float_value);
    case PJRT_NamedValue_kBool:
      return NamedValue(c.bool_value);
  }
  return invalidArgument("bad type or null value");
}

}  // namespace

Attributes::Attributes(std::map<std::string, NamedValue> values) : values_(std::move(values)) {
  for (const auto& [name, value] : values_) list_.push_back(toC(name, value));
}

Result<std::map<std::string, NamedValue>> readNamedValues(const PJRT_NamedValue* list,
                                                          size_t size) {
  std::map<std::string, NamedValue> values;
  if (!list && size != 0) return invalidArgument("a list of ", size, " named values is null");
  for (const PJRT_NamedValue& c : std::span(list, size)) {
    if (c.struct_size < PJRT_NamedValue_STRUCT_SIZE || !c.name) {
      return invalidArgument("a named value has no name or a wrong struct_size");
    }
    std::string name(c.name, c.name_size);
    Result<NamedValue> value = fromC(c);
    if (!value.ok()) return value.status().within(name);
    values.insert_or_assign(std::move(name), std::move(*value));
  }
  return values;
}

}  // namespace tercel::pjrt
