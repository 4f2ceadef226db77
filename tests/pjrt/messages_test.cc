// The protobuf messages that cross the C API.
#include <gtest/gtest.h>

#include "pjrt/compile_options.h"
#include "pjrt/device_assignment.h"
#include "pjrt/named_value.h"
#include "pjrt/wire.h"

namespace tercel::pjrt {
namespace {

std::string message(uint32_t number, const std::function<void(WireWriter&)>& write) {
  WireWriter inner;
  write(inner);
  WireWriter outer;
  outer.bytes(number, inner.take());
  return outer.take();
}

TEST(CompileOptions, SixFamousBytes) {
  const auto options = readCompileOptions(std::string_view("\x1a\x04\x20\x01\x28\x01", 6));
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->num_replicas, 1);
  EXPECT_EQ(options->num_partitions, 1);
  EXPECT_EQ(options->device_ordinal, -1);
  EXPECT_FALSE(options->device_assignment);
}

TEST(CompileOptions, AllThatWeRead) {
  const std::string assignment = writeDeviceAssignment({1, 4, {3, 2, 1, 0}});
  std::string bytes = message(3, [&](WireWriter& build) {
    build.integer(1, -1);
    build.bytes(3, "debug options are skipped");
    build.integer(4, 1);
    build.integer(5, 4);
    build.integer(6, 1);
    build.bytes(9, assignment);
    const int64_t propagate[] = {1, 0};
    build.packed(12, propagate);
    build.integer(18, 1);
    build.integer(19, 1);
    build.integer(20, 5);
  });
  bytes += message(7, [](WireWriter& entry) {
    WireWriter value;
    value.bytes(1, "text");
    entry.bytes(1, "an_option");
    entry.bytes(2, value.take());
  });
  bytes += message(7, [](WireWriter& entry) {
    WireWriter value;
    value.integer(2, 1);
    entry.bytes(1, "a_flag");
    entry.bytes(2, value.take());
  });
  const auto options = readCompileOptions(bytes);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->device_ordinal, -1);
  EXPECT_EQ(options->num_partitions, 4);
  ASSERT_TRUE(options->device_assignment);
  EXPECT_EQ(options->device_assignment->deviceId(0, 1), 2);
  ASSERT_EQ(options->overrides.size(), 2u);
  EXPECT_EQ(options->overrides[0].first, "an_option");
  EXPECT_EQ(options->overrides[0].second, OptionValue("text"));
  EXPECT_EQ(options->overrides[1].second, OptionValue(true));

  // Whatever is cut off or damaged is an error or other options, never more than that.
  for (size_t size = 0; size < bytes.size(); ++size) {
    (void)readCompileOptions(std::string_view(bytes).substr(0, size));
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      (void)readCompileOptions(damaged);
    }
  }
}

TEST(CompileOptions, Refusals) {
  const auto refused = [](const std::function<void(WireWriter&)>& build) {
    return readCompileOptions(message(3, build)).status().code() == Code::invalid_argument;
  };
  EXPECT_TRUE(refused([](WireWriter& w) { w.integer(4, -1); }));
  EXPECT_TRUE(refused([](WireWriter& w) { w.integer(5, int64_t{1} << 40); }));
  EXPECT_TRUE(refused([](WireWriter& w) { w.bytes(4, "x"); }));
  EXPECT_TRUE(refused([](WireWriter& w) {
    w.integer(5, 2);
    w.bytes(9, writeDeviceAssignment({1, 1, {0}}));
  }));
}

TEST(CompileOptions, TuplesForArguments) {
  for (const bool is_tupled : {false, true}) {
    WireWriter bytes;
    bytes.integer(2, is_tupled);
    const Status status = readCompileOptions(bytes.take()).status();
    EXPECT_EQ(status.code(), is_tupled ? Code::unimplemented : Code::ok);
    EXPECT_EQ(status.message().find("parameter_is_tupled_arguments") != std::string::npos,
              is_tupled);
  }
}

TEST(DeviceAssignment, RoundTrip) {
  const DeviceAssignment assignment{2, 3, {0, 1, 2, 10, 11, 300}};
  const auto read = readDeviceAssignment(writeDeviceAssignment(assignment));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->replicas, 2);
  EXPECT_EQ(read->partitions, 3);
  EXPECT_EQ(read->device_ids, assignment.device_ids);
  EXPECT_EQ(read->deviceId(1, 2), 300);
}

TEST(NamedValues, RoundTrip) {
  const std::map<std::string, NamedValue> values = {
      {"a", std::string("text")},
      {"b", int64_t{7}},
      {"c", std::vector<int64_t>{1, 2}},
      {"d", 0.5f},
      {"e", true},
  };
  const Attributes attributes(values);
  const auto read = readNamedValues(attributes.data(), attributes.size());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, values);
  EXPECT_FALSE(readNamedValues(nullptr, 1).ok());
}

}  // namespace
}  // namespace tercel::pjrt
