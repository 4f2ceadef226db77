#include "runtime/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "runtime/client_fixture.h"

namespace tercel::runtime {
namespace {

const Shape kShape{DType::f32, {3}};
const std::vector<float> kValues = {1, 2, 3};

class BufferTest : public ClientTest {};

TEST_F(BufferTest, Properties) {
  Memory* pinned = client->devices()[1]->memory(MemoryKind::pinned_host);
  BufferPtr buffer = floats(kValues, pinned);
  EXPECT_EQ(buffer->shape(), kShape);
  EXPECT_EQ(buffer->bytes(), 12);
  EXPECT_EQ(buffer->memory(), pinned);
  EXPECT_EQ(buffer->memory()->kindName(), "pinned_host");
  EXPECT_EQ(buffer->device()->id(), 1);
  EXPECT_TRUE(buffer->ready().isReady());
}

TEST_F(BufferTest, MemoriesHaveNamesAndNumbers) {
  std::vector<int> ids;
  for (Memory* m : client->memories()) {
    ids.push_back(m->id());
    EXPECT_NE(m->kindId(), 0);
    EXPECT_EQ(memoryKindFromName(m->kindName()), m->kind());
  }
  EXPECT_EQ(ids, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(device->defaultMemory()->kindName(), "device");
  EXPECT_EQ(memoryKindFromName(""), MemoryKind::device);
  EXPECT_EQ(memoryKindFromName("vram"), std::nullopt);
}

TEST_F(BufferTest, DeletedMeansDeleted) {
  BufferPtr buffer = floats(kValues);
  int64_t before = device->memoryStats().bytes_in_use;
  EXPECT_FALSE(buffer->isDeleted());
  buffer->deleteData();
  buffer->deleteData();
  EXPECT_TRUE(buffer->isDeleted());
  EXPECT_EQ(device->memoryStats().bytes_in_use, before - 12);
  float out[3];
  EXPECT_EQ(buffer->data().status().code(), Code::invalid_argument);
  EXPECT_EQ(buffer->copyToHost(out, 12).status().code(), Code::invalid_argument);
  EXPECT_EQ(buffer->copyTo(memory).status().code(), Code::invalid_argument);
  EXPECT_EQ(buffer->ready().await().code(), Code::invalid_argument);
  EXPECT_EQ(buffer->donate().status().code(), Code::invalid_argument);
  EXPECT_EQ(buffer->bitcast(kShape).status().code(), Code::invalid_argument);
  EXPECT_EQ(buffer->increaseExternalReferences().code(), Code::invalid_argument);
}

TEST_F(BufferTest, ExternalReferencesKeepTheBytes) {
  BufferPtr buffer = floats(kValues);
  EXPECT_EQ(buffer->decreaseExternalReferences().code(), Code::invalid_argument);
  ASSERT_TRUE(buffer->increaseExternalReferences().ok());
  ASSERT_TRUE(buffer->increaseExternalReferences().ok());
  const auto* data = static_cast<const float*>(*buffer->data());
  buffer->deleteData();
  EXPECT_TRUE(buffer->isDeleted());
  BufferPtr other = floats({9, 9, 9});
  EXPECT_NE(*other->data(), data);
  EXPECT_EQ(data[2], 3);
  EXPECT_TRUE(buffer->decreaseExternalReferences().ok());
  EXPECT_EQ(data[2], 3);
  int64_t before = device->memoryStats().bytes_in_use;
  EXPECT_TRUE(buffer->decreaseExternalReferences().ok());
  EXPECT_EQ(device->memoryStats().bytes_in_use, before - 12);
}

TEST_F(BufferTest, RawCopiesStayInBounds) {
  BufferPtr buffer = floats(kValues);
  float out[2] = {};
  auto event = buffer->copyRawToHost(out, 4, 8);
  ASSERT_TRUE(event.ok());
  EXPECT_TRUE(event->await().ok());
  EXPECT_EQ(out[1], 3);
  for (auto [offset, size] :
       {std::pair<int64_t, int64_t>{8, 8}, {-4, 4}, {13, 0}, {0, -1}, {4, INT64_MAX}}) {
    EXPECT_EQ(buffer->copyRawToHost(out, offset, size).status().code(), Code::invalid_argument);
  }
  EXPECT_TRUE(buffer->copyRawToHost(out, 12, 0).ok());
  EXPECT_EQ(buffer->copyToHost(out, 8).status().code(), Code::invalid_argument);
}

TEST_F(BufferTest, CopyToAnotherMemoryIsACopy) {
  BufferPtr buffer = floats(kValues);
  for (Memory* target : client->memories()) {
    auto copy = buffer->copyTo(target);
    ASSERT_TRUE(copy.ok());
    EXPECT_EQ((*copy)->memory(), target);
    EXPECT_NE(*(*copy)->data(), *buffer->data());
    EXPECT_EQ(read(**copy), kValues);
  }
}

TEST_F(BufferTest, BitcastSharesTheBytes) {
  BufferPtr buffer = floats(kValues);
  auto view = buffer->bitcast(Shape{DType::u8, {12}});
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(*(*view)->data(), *buffer->data());
  buffer.reset();
  EXPECT_EQ(read(**view), kValues);
  EXPECT_EQ((*view)->bitcast(Shape{DType::u8, {13}}).status().code(), Code::invalid_argument);
}

TEST_F(BufferTest, PendingContentArrivesLater) {
  auto pending = client->createPending(kShape, memory);
  ASSERT_TRUE(pending.ok());
  Buffer& buffer = *pending->buffer;
  float out[3] = {};
  auto read_event = buffer.copyToHost(out, 12);
  auto copy = buffer.copyTo(client->devices()[1]->defaultMemory());
  ASSERT_TRUE(read_event.ok() && copy.ok());
  EXPECT_FALSE(buffer.ready().isReady());
  EXPECT_FALSE(read_event->isReady());
  EXPECT_FALSE((*copy)->ready().isReady());
  buffer.deleteData();  // the copies are under way already
  std::thread writer([&] {
    std::memcpy(pending->storage->data(), kValues.data(), 12);
    pending->ready.set(Status());
  });
  EXPECT_TRUE(read_event->await().ok());
  EXPECT_EQ(out[2], 3);
  EXPECT_EQ(read(**copy), kValues);
  writer.join();
}

TEST_F(BufferTest, PendingContentMayFail) {
  auto pending = client->createPending(kShape, memory);
  ASSERT_TRUE(pending.ok());
  auto copy = pending->buffer->copyTo(memory);
  ASSERT_TRUE(copy.ok());
  pending->ready.set(internalError("transfer lost"));
  EXPECT_EQ(pending->buffer->data().status().message(), "transfer lost");
  EXPECT_EQ((*copy)->ready().await().message(), "transfer lost");
}

TEST_F(BufferTest, ErrorBuffers) {
  auto buffer = client->createError(internalError("no luck"), kShape, memory);
  ASSERT_TRUE(buffer.ok());
  EXPECT_TRUE((*buffer)->ready().isReady());
  EXPECT_EQ((*buffer)->ready().status().message(), "no luck");
  float out[3];
  auto event = (*buffer)->copyToHost(out, 12);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->await().message(), "no luck");
  auto copy = (*buffer)->copyTo(memory);
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ((*copy)->ready().await().message(), "no luck");
  EXPECT_EQ(client->createError(Status(), kShape, memory).status().code(), Code::invalid_argument);
}

TEST_F(BufferTest, AliasesAreFulfilled) {
  auto alias = client->createAlias(kShape, memory);
  ASSERT_TRUE(alias.ok());
  EXPECT_FALSE(alias->buffer->ready().isReady());
  EXPECT_EQ(client->fulfill(*alias, *floats({1, 2})).code(), Code::invalid_argument);
  BufferPtr source = floats(kValues);
  ASSERT_TRUE(client->fulfill(*alias, *source).ok());
  source.reset();
  EXPECT_EQ(read(*alias->buffer), kValues);

  auto failing = client->createAlias(kShape, memory);
  auto error = client->createError(internalError("gone"), kShape, memory);
  ASSERT_TRUE(client->fulfill(*failing, **error).ok());
  EXPECT_EQ(failing->buffer->ready().await().message(), "gone");
}

TEST_F(BufferTest, ViewsOfForeignMemory) {
  alignas(16) float host[4] = {1, 2, 3};
  int deleted = 0;
  EXPECT_EQ(client->viewOf(host + 1, kShape, memory, {}).status().code(), Code::invalid_argument);
  auto view = client->viewOf(host, kShape, memory, [&] { ++deleted; });
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(*(*view)->data(), host);
  EXPECT_EQ(read(**view), kValues);
  view->reset();
  EXPECT_EQ(deleted, 1);
}

TEST_F(BufferTest, DonateAfterADependency) {
  BufferPtr buffer = floats(kValues);
  void* data = *buffer->data();
  Event dependency = Event::pending();
  auto moved = buffer->donateAfter(dependency);
  ASSERT_TRUE(moved.ok());
  EXPECT_TRUE(buffer->isDeleted());
  EXPECT_FALSE((*moved)->ready().isReady());
  dependency.set(Status());
  EXPECT_EQ(*(*moved)->data(), data);
  auto failed = (*moved)->donateAfter(Event(internalError("not to be")));
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ((*failed)->ready().await().message(), "not to be");
  EXPECT_EQ(device->memoryStats().bytes_in_use, 0);
}

TEST_F(BufferTest, UninitialisedIsPoisonedOnDemand) {
  Options options;
  options.poison = static_cast<int>(Poison::nan);
  makeClient(options);
  auto buffer = client->createUninitialized(kShape, memory);
  ASSERT_TRUE(buffer.ok());
  for (float value : read(**buffer)) EXPECT_NE(value, value);
}

}  // namespace
}  // namespace tercel::runtime
