#include "core/options.h"

#include <gtest/gtest.h>

#include "core/log.h"
#include "runtime/client.h"
#include "runtime/engine/thread_pool.h"

namespace tercel {
namespace {

Result<Options> from(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return optionsFromEnvironment(environment.data());
}

class OptionsTest : public testing::Test {
  void TearDown() override { setLogLevel(LogLevel::warning); }
};

TEST_F(OptionsTest, DefaultsAndValues) {
  Result<Options> none = from({"HOME=/", "TERCEL=1"});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->num_devices, 1);
  EXPECT_EQ(none->dump, "");
  Result<Options> some = from({"TERCEL_NUM_THREADS=3", "TERCEL_MEMORY_LIMIT=2G", "TERCEL_LOG=debug",
                               "TERCEL_EVAL=1", "TERCEL_CHECK=off", "TERCEL_POISON=nan",
                               "TERCEL_DUMP=/some=where", "TERCEL_NUM_DEVICES=8"});
  ASSERT_TRUE(some.ok()) << some.status().message();
  EXPECT_EQ(some->num_threads, 3);
  EXPECT_EQ(some->memory_limit, int64_t{2} << 30);
  EXPECT_EQ(some->log, 3);
  EXPECT_TRUE(logEnabled(LogLevel::debug));
  EXPECT_TRUE(some->eval);
  EXPECT_FALSE(some->check);
  EXPECT_EQ(some->poison, 1);
  EXPECT_EQ(some->dump, "/some=where");
  EXPECT_EQ(some->num_devices, 8);
}

TEST_F(OptionsTest, BadValuesAreErrorsThatNameTheVariable) {
  for (const char* entry :
       {"TERCEL_NUM_THREADS=many", "TERCEL_NUM_THREADS=-1", "TERCEL_NUM_THREADS=",
        "TERCEL_NUM_THREADS=4x", "TERCEL_MEMORY_LIMIT=1P", "TERCEL_MEMORY_LIMIT=-5",
        "TERCEL_MEMORY_LIMIT=9999999999T", "TERCEL_MEMORY_LIMIT=", "TERCEL_EVAL=yes",
        "TERCEL_LOG=loud", "TERCEL_POISON=2", "TERCEL_NUM_DEVICES=0"}) {
    Status status = from({entry}).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << entry;
    std::string_view name(entry, std::string_view(entry).find('='));
    EXPECT_EQ(status.message().find(name), 0u) << status.message();
    EXPECT_NE(status.message().find("expected "), std::string::npos) << status.message();
  }
}

TEST_F(OptionsTest, UnknownVariablesAreNamedInTheLog) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(from({"TERCEL_NUM_THREAD=3", "TERCEL_num_devices=3"}).ok());
  std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("TERCEL_NUM_THREAD"), std::string::npos) << log;
  EXPECT_NE(log.find("TERCEL_num_devices"), std::string::npos) << log;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(from({"TERCEL_NUM_THREAD=3", "TERCEL_LOG=error"}).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(OptionsTest, CreateOptions) {
  Options options;
  EXPECT_TRUE(setOption(options, "num_devices", "4").ok());
  EXPECT_EQ(options.num_devices, 4);
  EXPECT_EQ(setOption(options, "num_device", "4").code(), Code::invalid_argument);
  Status status = setOption(options, "num_devices", "four");
  EXPECT_EQ(status.message(), "option num_devices = 'four': expected a number from 1 to 1024");
}

TEST_F(OptionsTest, TheClientObeys) {
  Options options;
  options.num_devices = 3;
  options.num_threads = 2;
  options.memory_limit = 1 << 20;
  auto client = runtime::Client::create(options);
  ASSERT_TRUE(client.ok());
  EXPECT_EQ((*client)->devices().size(), 3u);
  EXPECT_EQ((*client)->memories().size(), 9u);
  EXPECT_EQ((*client)->pool()->threads(), 2);
  EXPECT_EQ((*client)->devices()[2]->id(), 2);
  EXPECT_EQ((*client)->devices()[0]->memoryStats().bytes_limit, 1 << 20);
  EXPECT_EQ((*client)->lookupDevice(3).status().message(),
            "No matching device found for device_id 3");
  EXPECT_EQ((*client)->lookupDevice(-1).status().code(), Code::invalid_argument);
  EXPECT_EQ(*(*client)->lookupDevice(1), (*client)->devices()[1]);
}

}  // namespace
}  // namespace tercel
