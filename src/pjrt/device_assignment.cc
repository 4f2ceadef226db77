#include "pjrt/device_assignment.h"

#include "pjrt/wire.h"

namespace tercel::pjrt {
namespace {

// Field numbers of xla.DeviceAssignmentProto and its ComputationDevice.
enum : uint32_t { kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3 };
enum : uint32_t { kReplicaDeviceIds = 1 };

// On the wire the lists are per partition ("computation"), one id per replica.
using Columns = std::vector<std::vector<int64_t>>;

Status readColumn(const WireField& field, Columns& columns) {
  TERCEL_ASSIGN(const std::string_view bytes, field.text());
  std::vector<int64_t>& column = columns.emplace_back();
  return readMessage(bytes, [&](const WireField& inner) -> Status {
    return inner.number == kReplicaDeviceIds ? inner.appendTo(column) : Status();
  });
}

Result<DeviceAssignment> assemble(int64_t replicas, int64_t partitions, const Columns& columns) {
  if (replicas < 1 || partitions != static_cast<int64_t>(columns.size())) {
    return invalidArgument("DeviceAssignmentProto: ", replicas, " replicas, ", partitions,
                           " partitions, but device lists for ", columns.size());
  }
  for (const auto& column : columns) {
    if (static_cast<int64_t>(column.size()) != replicas) {
      return invalidArgument("DeviceAssignmentProto: ", column.size(), " devices for ", replicas,
                             " replicas");
    }
  }
  DeviceAssignment assignment{replicas, partitions, {}};
  for (int64_t replica = 0; replica < replicas; ++replica) {
    for (const auto& column : columns) {
      assignment.device_ids.push_back(column[static_cast<size_t>(replica)]);
    }
  }
  return assignment;
}

}  // namespace

Result<DeviceAssignment> readDeviceAssignment(std::string_view bytes) {
  int64_t replicas = 0;
  int64_t partitions = 0;
  Columns columns;
  TERCEL_TRY(readMessage(bytes, [&](const WireField& field) -> Status {
    switch (field.number) {
      case kReplicaCount: {
        TERCEL_ASSIGN(replicas, field.integer());
        return {};
      }
      case kComputationCount: {
        TERCEL_ASSIGN(partitions, field.integer());
        return {};
      }
      case kComputationDevices:
        return readColumn(field, columns);
      default:
        return {};
    }
  }));
  return assemble(replicas, partitions, columns);
}

std::string writeDeviceAssignment(const DeviceAssignment& assignment) {
  WireWriter out;
  out.integer(kReplicaCount, assignment.replicas);
  out.integer(kComputationCount, assignment.partitions);
  for (int64_t partition = 0; partition < assignment.partitions; ++partition) {
    std::vector<int64_t> column;
    for (int64_t replica = 0; replica < assignment.replicas; ++replica) {
      column.push_back(assignment.deviceId(replica, partition));
    }
    WireWriter inner;
    inner.packed(kReplicaDeviceIds, column);
    out.bytes(kComputationDevices, inner.take());
  }
  return out.take();
}

}  // namespace tercel::pjrt
