// Which device runs which (replica, partition) of a program.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace tercel::pjrt {

struct DeviceAssignment {
  int64_t replicas = 1;
  int64_t partitions = 1;
  std::vector<int64_t> device_ids;  // [replica][partition]

  int64_t deviceId(int64_t replica, int64_t partition) const {
    return device_ids[static_cast<size_t>(replica * partitions + partition)];
  }
};

// xla.DeviceAssignmentProto.
Result<DeviceAssignment> readDeviceAssignment(std::string_view bytes);
std::string writeDeviceAssignment(const DeviceAssignment& assignment);

}  // namespace tercel::pjrt
