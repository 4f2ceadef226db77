// The part of xla.CompileOptionsProto that means something to us.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/status.h"
#include "pjrt/device_assignment.h"

namespace tercel::pjrt {

using OptionValue = std::variant<std::string, bool, int64_t, double>;

struct CompileOptions {
  int64_t device_ordinal = -1;
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;
  std::optional<DeviceAssignment> device_assignment;
  // What the user gave as compiler_options={...}.
  std::vector<std::pair<std::string, OptionValue>> overrides;
};

Result<CompileOptions> readCompileOptions(std::string_view bytes);

}  // namespace tercel::pjrt
