// PJRT_NamedValue lists: attributes that we report, options that we are given.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"
#include "pjrt/abi/base.h"

namespace tercel::pjrt {

using NamedValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;

// A list of attributes whose C form lives as long as it does.
class Attributes {
 public:
  explicit Attributes(std::map<std::string, NamedValue> values);
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const PJRT_NamedValue* data() const { return list_.data(); }
  size_t size() const { return list_.size(); }

 private:
  const std::map<std::string, NamedValue> values_;
  std::vector<PJRT_NamedValue> list_;
};

Result<std::map<std::string, NamedValue>> readNamedValues(const PJRT_NamedValue* list, size_t size);

}  // namespace tercel::pjrt
