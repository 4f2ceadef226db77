// A client with two devices and what the tests of buffers and executables do all the time.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/client.h"

namespace tercel::runtime {

class ClientTest : public testing::Test {
 protected:
  void SetUp() override { makeClient({}); }

  void makeClient(Options options) {
    options.num_devices = 2;
    options.num_threads = 3;
    auto made = Client::create(options);
    ASSERT_TRUE(made.ok());
    client = std::move(*made);
    device = client->devices()[0];
    memory = device->defaultMemory();
  }

  BufferPtr floats(const std::vector<float>& values, Memory* where = nullptr) {
    HostArray array;
    array.data = values.data();
    array.type = Shape{DType::f32, {static_cast<int64_t>(values.size())}};
    auto made = client->bufferFromHost(array, where ? where : memory);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made->buffer);
  }

  // Waits. Empty where the buffer has an error.
  static std::vector<float> read(const Buffer& buffer) {
    std::vector<float> values(static_cast<size_t>(buffer.bytes() / 4));
    auto event = buffer.copyToHost(values.data(), buffer.bytes());
    if (!event.ok() || !event->await().ok()) return {};
    return values;
  }

  std::unique_ptr<Client> client;
  Device* device = nullptr;
  Memory* memory = nullptr;
};

}  // namespace tercel::runtime
