#include "pjrt/compile_options.h"

#include "pjrt/wire.h"

namespace tercel::pjrt {
namespace {

// Field numbers of xla.CompileOptionsProto.
enum : uint32_t {
  kParameterIsTupledArguments = 2,
  kExecutableBuildOptions = 3,
  kEnvOptionOverrides = 7,
};

// Of xla.ExecutableBuildOptionsProto.
enum : uint32_t {
  kDeviceOrdinal = 1,
  kNumReplicas = 4,
  kNumPartitions = 5,
  kDeviceAssignment = 9,
};

// Of an entry of a map, and of xla.OptionOverrideProto.
enum : uint32_t { kMapKey = 1, kMapValue = 2 };
enum : uint32_t { kString = 1, kBool = 2, kInt = 3, kDouble = 4 };

template <class T>
Status assign(T& to, Result<T> value) {
  if (value.ok()) to = *value;
  return value.status();
}

Status readDeviceAssignmentField(const WireField& field, CompileOptions& options) {
  TERCEL_ASSIGN(const std::string_view bytes, field.text());
  TERCEL_ASSIGN(options.device_assignment, readDeviceAssignment(bytes));
  return {};
}

Status readBuildOption(const WireField& field, CompileOptions& options) {
  switch (field.number) {
    case kDeviceOrdinal:
      return assign(options.device_ordinal, field.integer());
    case kNumReplicas:
      return assign(options.num_replicas, field.integer());
    case kNumPartitions:
      return assign(options.num_partitions, field.integer());
    case kDeviceAssignment:
      return readDeviceAssignmentField(field, options);
    default:
      return {};
  }
}

Status readOptionValue(const WireField& field, OptionValue& value) {
  switch (field.number) {
    case kString: {
      TERCEL_ASSIGN(const std::string_view text, field.text());
      value = std::string(text);
      return {};
    }
    case kBool: {
      TERCEL_ASSIGN(value, field.boolean());
      return {};
    }
    case kInt: {
      TERCEL_ASSIGN(value, field.integer());
      return {};
    }
    case kDouble: {
      TERCEL_ASSIGN(value, field.real());
      return {};
    }
    default:
      return {};
  }
}

Status readOverride(std::string_view entry, CompileOptions& options) {
  auto& [name, value] = options.overrides.emplace_back();
  return readMessage(entry, [&](const WireField& field) -> Status {
    if (field.number != kMapKey && field.number != kMapValue) return {};
    TERCEL_ASSIGN(const std::string_view bytes, field.text());
    if (field.number == kMapKey) {
      name = bytes;
      return {};
    }
    return readMessage(bytes, [&](const WireField& f) { return readOptionValue(f, value); });
  });
}

Status checkTupledArguments(const WireField& field) {
  TERCEL_ASSIGN(const bool is_tupled, field.boolean());
  if (!is_tupled) return {};
  return unimplemented("parameter_is_tupled_arguments: arguments are taken one by one");
}

Status readOption(const WireField& field, CompileOptions& options) {
  switch (field.number) {
    case kParameterIsTupledArguments:
      return checkTupledArguments(field);
    case kExecutableBuildOptions: {
      TERCEL_ASSIGN(const std::string_view bytes, field.text());
      return readMessage(bytes, [&](const WireField& f) { return readBuildOption(f, options); });
    }
    case kEnvOptionOverrides: {
      TERCEL_ASSIGN(const std::string_view bytes, field.text());
      return readOverride(bytes, options);
    }
    default:
      return {};
  }
}

// A count of 0 is a field left out.
Status checkCounts(CompileOptions& options) {
  constexpr int64_t kMost = 1 << 20;
  for (int64_t* count : {&options.num_replicas, &options.num_partitions}) {
    if (*count == 0) *count = 1;
    if (*count < 1 || *count > kMost) {
      return invalidArgument("num_replicas ", options.num_replicas, " and num_partitions ",
                             options.num_partitions, " are out of range");
    }
  }
  const auto& assignment = options.device_assignment;
  if (assignment && (assignment->replicas != options.num_replicas ||
                     assignment->partitions != options.num_partitions)) {
    return invalidArgument("the device assignment is for ", assignment->replicas, "x",
                           assignment->partitions, " devices, num_replicas x num_partitions is ",
                           options.num_replicas, "x", options.num_partitions);
  }
  return {};
}

}  // namespace

Result<CompileOptions> readCompileOptions(std::string_view bytes) {
  CompileOptions options;
  Status status =
      readMessage(bytes, [&](const WireField& field) { return readOption(field, options); });
  if (status.ok()) status = checkCounts(options);
  if (!status.ok()) return status.within("CompileOptionsProto");
  return options;
}

}  // namespace tercel::pjrt
