#include "pjrt/device_assignment.h"
#include "pjrt/entry.h"
#include "pjrt/executable_facts.h"

struct PJRT_DeviceAssignmentSerialized : tercel::pjrt::SerializedBytes {};

namespace tercel::pjrt {

Status LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args& args) {
  delete args.executable;
  return {};
}

Status LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args& args) {
  args.executable = new PJRT_Executable{args.loaded_executable->facts};
  return {};
}

Status LoadedExecutable_AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args& args) {
  args.addressable_devices = args.executable->devices.data();
  args.num_addressable_devices = args.executable->devices.size();
  return {};
}

Status LoadedExecutable_AddressableDeviceLogicalIds(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args& args) {
  args.addressable_device_logical_ids = args.executable->logical_ids.data();
  args.num_addressable_device_logical_ids = args.executable->logical_ids.size();
  return {};
}

Status LoadedExecutable_GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args& args) {
  const runtime::Executable& executable = *args.executable->executable;
  DeviceAssignment assignment{executable.numReplicas(), executable.numPartitions(), {}};
  for (const runtime::Device* device : executable.devices()) {
    assignment.device_ids.push_back(device->id());
  }
  auto* serialized = new PJRT_DeviceAssignmentSerialized{{writeDeviceAssignment(assignment)}};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_device_assignment = serialized;
  args.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* s) { delete s; };
  return {};
}

Status LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args& args) {
  args.executable->executable->deleteCode();
  return {};
}

Status LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args& args) {
  args.is_deleted = args.executable->executable->isDeleted();
  return {};
}

Status LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args& args) {
  const std::string& fingerprint = args.executable->facts->fingerprint();
  args.executable_fingerprint = fingerprint.data();
  args.executable_fingerprint_size = fingerprint.size();
  return {};
}

}  // namespace tercel::pjrt
