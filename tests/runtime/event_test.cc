#include "runtime/event.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace tercel::runtime {
namespace {

TEST(Event, ReadyFromTheStart) {
  Event ok, failed(invalidArgument("bad")), fine{Status()};
  EXPECT_TRUE(ok.isReady() && failed.isReady() && fine.isReady());
  EXPECT_TRUE(ok.status().ok() && fine.status().ok());
  EXPECT_EQ(failed.await().message(), "bad");
  EXPECT_FALSE(ok.set(Status()));
  EXPECT_FALSE(failed.set(Status()));
}

TEST(Event, SetOnceCallbacksInOrder) {
  Event event = Event::pending();
  std::string order;
  event.onReady([&](const Status& s) { order += s.ok() ? "a" : "A"; });
  event.onReady([&](const Status&) { order += "b"; });
  EXPECT_FALSE(event.isReady());
  EXPECT_EQ(order, "");
  EXPECT_TRUE(event.set(invalidArgument("late")));
  EXPECT_FALSE(event.set(Status()));
  EXPECT_EQ(order, "Ab");
  event.onReady([&](const Status&) { order += "c"; });
  EXPECT_EQ(order, "Abc");
  EXPECT_EQ(event.status().message(), "late");
}

TEST(Event, AwaitBlocksUntilAnotherThreadSets) {
  for (int round = 0; round < 100; ++round) {
    Event event = Event::pending();
    std::atomic<bool> done{false};
    std::thread setter([&] {
      done = true;
      event.set(Status());
    });
    EXPECT_TRUE(event.await().ok());
    EXPECT_TRUE(done.load());
    setter.join();
  }
}

TEST(Event, EveryCallbackRunsOnceWhateverTheRace) {
  for (int round = 0; round < 200; ++round) {
    Event event = Event::pending();
    std::atomic<int> calls{0};
    std::thread setter([&] { event.set(Status()); });
    for (int i = 0; i < 20; ++i) event.onReady([&](const Status&) { ++calls; });
    setter.join();
    EXPECT_EQ(calls.load(), 20);
  }
}

TEST(Event, ACallbackMayDropTheLastHandle) {
  auto event = std::make_unique<Event>(Event::pending());
  Event copy = *event;
  event->onReady([&](const Status&) { event.reset(); });
  Event* raw = event.get();
  copy = Event();
  EXPECT_TRUE(raw->set(Status()));
  EXPECT_EQ(event, nullptr);
}

TEST(Event, AllWaitsForAllAndKeepsTheFirstError) {
  Event a = Event::pending(), b = Event::pending();
  std::vector<Event> events = {a, Event(), b};
  Event all = Event::all(events);
  b.set(invalidArgument("second"));
  EXPECT_FALSE(all.isReady());
  a.set(invalidArgument("first"));
  ASSERT_TRUE(all.isReady());
  EXPECT_EQ(all.status().message(), "first");
  EXPECT_TRUE(Event::all({}).isReady());
  std::vector<Event> failed = {Event(), Event(invalidArgument("only"))};
  EXPECT_EQ(Event::all(failed).await().message(), "only");
}

}  // namespace
}  // namespace tercel::runtime
