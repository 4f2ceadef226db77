#include "runtime/executable.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <thread>

#include "engine/program_maker.h"
#include "runtime/client_fixture.h"

namespace tercel::runtime {
namespace {

using test::ProgramMaker;

constexpr int64_t kCount = 8;
constexpr double kSlow = 1e6;  // ns: goes to the device's queue
const Shape kManyShape{DType::f32, {kCount}};

void add(void* const* p, int64_t begin, int64_t end, void*) {
  auto *a = static_cast<float*>(p[0]), *b = static_cast<float*>(p[1]);
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(p[2])[i] = a[i] + b[i];
}

// Lets a test hold up a running program.
struct Gate : engine::CustomCallHandler {
  Status call(const engine::CustomCall& call) override {
    std::unique_lock lock(mutex);
    devices.push_back(call.run->device_id);
    launch_id = call.run->launch_id;
    ++arrived;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    return result;
  }
  void release() {
    std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  void awaitArrivals(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return arrived >= count; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int arrived = 0;
  int64_t launch_id = 0;
  std::vector<int> devices;
  Status result;
};

class ExecutableTest : public ClientTest {
 protected:
  // r = a + b. Optionally a is given away for r, and a custom call comes first.
  std::unique_ptr<Executable> adder(double cost = 0, bool donates = false, bool gated = false,
                                    ExecutableOptions options = {}) {
    ProgramMaker m;
    uint32_t a = m.argument(kManyShape, donates ? 0 : -1), b = m.argument(kManyShape);
    uint32_t r = m.result(kManyShape), t = m.arena(kManyShape.bytes());
    if (gated) m.step(0, program::StepKind::custom_call, {}).values = program::encode({});
    m.run(0, m.kernel("add", add), {a, b, t}, kCount, 3);
    m.copy(0, t, r);
    m.program.cost = cost;
    m.program.name = "adder";
    return make(m, std::move(options));
  }

  std::unique_ptr<Executable> make(const ProgramMaker& m, ExecutableOptions options = {}) {
    auto loaded = m.load();
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    options.runner = *loaded;
    auto made = Executable::create(client.get(), m.program, std::move(options));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }

  static Result<Launch> run(Executable& executable, std::vector<Buffer*> args,
                            const ExecuteOptions& options = {}, Device* device = nullptr) {
    std::span<Buffer* const> lists[] = {args};
    auto launches = executable.execute(lists, options, device);
    if (!launches.ok()) return launches.status();
    EXPECT_EQ(launches->size(), 1u);
    return std::move((*launches)[0]);
  }

  BufferPtr filled(float value, Memory* where = nullptr) {
    return floats(std::vector<float>(kCount, value), where);
  }
  static std::vector<float> all(float value) { return std::vector<float>(kCount, value); }
};

TEST_F(ExecutableTest, SmallProgramsAreDoneAtOnceOthersLater) {
  BufferPtr a = filled(1), b = filled(2);
  auto small = adder(), large = adder(kSlow);
  auto launch = run(*small, {a.get(), b.get()});
  ASSERT_TRUE(launch.ok());
  EXPECT_TRUE(launch->done.isReady());
  EXPECT_TRUE(launch->results[0]->ready().isReady());
  EXPECT_EQ(read(*launch->results[0]), all(3));
  auto slow = run(*large, {launch->results[0].get(), b.get()});
  ASSERT_TRUE(slow.ok());
  EXPECT_EQ(read(*slow->results[0]), all(5));
  EXPECT_TRUE(slow->done.await().ok());
  EXPECT_FALSE(a->isDeleted());
}

TEST_F(ExecutableTest, QueuedResultsFeedLaterPrograms) {
  auto gated = adder(kSlow, false, true);
  auto next = adder();
  BufferPtr a = filled(1), b = filled(2);
  auto gate = std::make_shared<Gate>();
  ExecuteOptions options;
  options.custom_calls = gate;
  options.launch_id = 42;
  auto first = run(*gated, {a.get(), b.get()}, options);
  ASSERT_TRUE(first.ok());
  auto second = run(*next, {first->results[0].get(), b.get()});
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(first->done.isReady());
  EXPECT_FALSE(second->results[0]->ready().isReady());
  a.reset();  // in use, so it lives on
  b->deleteData();
  gate->release();
  EXPECT_EQ(read(*second->results[0]), all(5));
  EXPECT_EQ(gate->launch_id, 42);
}

struct Counts : engine::CustomCallHandler {
  Status call(const engine::CustomCall&) override {
    ++calls;
    return Status();
  }
  int calls = 0;
};

TEST_F(ExecutableTest, ProgramsThatTellPythonAreDoneAtOnce) {
  for (bool tells : {false, true}) {
    ProgramMaker m;
    m.argument(kManyShape);
    program::Step& call = m.step(0, program::StepKind::custom_call, {});
    call.name = "xla_ffi_python_cpu_callback";
    call.values = program::encode({4, {}, {}, tells});
    m.program.cost = kSlow;
    auto slow = adder(kSlow, false, true), calling = make(m);
    auto gate = std::make_shared<Gate>();
    auto counts = std::make_shared<Counts>();
    ExecuteOptions gated, counted;
    gated.custom_calls = gate;
    counted.custom_calls = counts;
    BufferPtr a = filled(1);
    auto first = run(*slow, {a.get(), a.get()}, gated);
    ASSERT_TRUE(first.ok());
    std::thread opens([&] {
      gate->awaitArrivals(1);
      if (tells) gate->release();
    });
    auto launch = run(*calling, {first->results[0].get()}, counted);
    opens.join();
    ASSERT_TRUE(launch.ok());
    EXPECT_EQ(launch->done.isReady(), tells);
    gate->release();
    EXPECT_TRUE(launch->done.await().ok());
    EXPECT_EQ(counts->calls, 1);
  }
}

struct NotesThread : engine::CustomCallHandler {
  Status call(const engine::CustomCall&) override {
    thread = std::this_thread::get_id();
    return Status();
  }
  std::thread::id thread;
};

// Two waits in a row come soon enough at some time, however busy the machine is.
TEST_F(ExecutableTest, ProgramsThatAreWaitedForRunOnTheCallersThread) {
  auto slow = adder(kSlow, false, true), never_awaited = adder(kSlow, false, true);
  BufferPtr a = filled(1);
  ExecuteOptions options;
  auto notes = std::make_shared<NotesThread>();
  options.custom_calls = notes;
  auto runsHere = [&](Executable& executable, bool waits) {
    auto launch = run(executable, {a.get(), a.get()}, options);
    if (waits) noteWait();
    EXPECT_TRUE(launch.ok() && launch->done.await().ok());
    return notes->thread == std::this_thread::get_id();
  };
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(runsHere(*never_awaited, false));
  while (!runsHere(*slow, true)) {}
}

// What a callback into Python may do.
struct WaitsForLater : engine::CustomCallHandler {
  Status call(const engine::CustomCall& call) override {
    call.may_block();
    return later.await();
  }
  Event later = Event::pending();
};

TEST_F(ExecutableTest, WorkThatMayBlockLetsTheQueueGoOn) {
  auto waiting = adder(kSlow, false, true), other = adder(kSlow);
  BufferPtr a = filled(1), b = filled(2);
  for (int round = 0; round < 3; ++round) {
    auto handler = std::make_shared<WaitsForLater>();
    ExecuteOptions options;
    options.custom_calls = handler;
    auto first = run(*waiting, {a.get(), b.get()}, options);
    ASSERT_TRUE(first.ok());
    auto second = run(*other, {a.get(), b.get()});
    ASSERT_TRUE(second.ok());
    second->done.onReady([handler](const Status& status) { handler->later.set(status); });
    EXPECT_EQ(read(*first->results[0]), all(3));
  }
}

TEST_F(ExecutableTest, ErrorsTravelToResultsAndOn) {
  auto gated = adder(kSlow, false, true);
  for (double cost : {0.0, kSlow}) {
    auto next = adder(cost);
    BufferPtr a = filled(1), b = filled(2);
    auto gate = std::make_shared<Gate>();
    gate->result = internalError("callback raised");
    gate->release();
    ExecuteOptions options;
    options.custom_calls = gate;
    auto first = run(*gated, {a.get(), b.get()}, options);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->done.await().code(), Code::internal);
    Status status = first->results[0]->ready().await();
    EXPECT_NE(status.message().find("callback raised"), std::string::npos);
    auto second = run(*next, {b.get(), first->results[0].get()});
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->done.await().message(), status.message());
    EXPECT_EQ(second->results[0]->data().status().message(), status.message());
  }
}

TEST_F(ExecutableTest, WithoutAHandlerCustomCallsAreUnimplemented) {
  BufferPtr a = filled(1), b = filled(2);
  EXPECT_EQ(run(*adder(0, false, true), {a.get(), b.get()}).status().code(), Code::unimplemented);
  auto later = run(*adder(kSlow, false, true), {a.get(), b.get()});
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(later->done.await().code(), Code::unimplemented);
}

TEST_F(ExecutableTest, BadArgumentsAreRefusedAndNothingChanges) {
  auto executable = adder(0, true);
  BufferPtr a = filled(1), b = filled(2), short_one = floats({1, 2, 3});
  BufferPtr elsewhere = filled(1, client->devices()[1]->defaultMemory());
  BufferPtr gone = filled(1);
  gone->deleteData();
  struct Bad {
    std::vector<Buffer*> args;
    const char* says;
  };
  const Bad calls[] = {
      {{}, "takes 2 arguments; got 0"},
      {{a.get()}, "takes 2 arguments; got 1"},
      {{a.get(), b.get(), b.get()}, "got 3"},
      {{a.get(), short_one.get()}, "argument 1 is f32[3]; expected f32[8]"},
      {{a.get(), gone.get()}, "argument 1 has been deleted or donated"},
      {{a.get(), nullptr}, "argument 1 is missing"},
      {{a.get(), elsewhere.get()}, "argument 1 is on device 1; expected device 0"},
      {{a.get(), a.get()}, "used by two arguments"},
  };
  for (const Bad& bad : calls) {
    Status status = run(*executable, bad.args).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find(bad.says), std::string::npos) << status.message();
    EXPECT_FALSE(a->isDeleted());
  }
  EXPECT_TRUE(run(*executable, {a.get(), b.get()}).ok());
  EXPECT_EQ(run(*executable, {a.get(), b.get()}).status().code(), Code::invalid_argument);
}

TEST_F(ExecutableTest, DonationHandsTheMemoryOver) {
  for (double cost : {0.0, kSlow}) {
    auto executable = adder(cost, true);
    BufferPtr a = filled(1), b = filled(2);
    void* data = *a->data();
    auto launch = run(*executable, {a.get(), b.get()});
    ASSERT_TRUE(launch.ok());
    EXPECT_TRUE(a->isDeleted());
    EXPECT_FALSE(b->isDeleted());
    EXPECT_EQ(read(*launch->results[0]), all(3));
    EXPECT_EQ(*launch->results[0]->data(), data);
  }
}

TEST_F(ExecutableTest, AChainOfQueuedDonationsUsesOneBlock) {
  auto executable = adder(kSlow, true);
  BufferPtr value = filled(0), one = filled(1);
  void* data = *value->data();
  for (int i = 0; i < 50; ++i) {
    auto launch = run(*executable, {value.get(), one.get()});
    ASSERT_TRUE(launch.ok());
    value = std::move(launch->results[0]);
  }
  EXPECT_EQ(read(*value), all(50));
  EXPECT_EQ(*value->data(), data);
}

TEST_F(ExecutableTest, NonDonatableArgumentsStay) {
  auto executable = adder(0, true);
  BufferPtr a = filled(1), b = filled(2);
  int64_t keep[] = {0};
  ExecuteOptions options;
  options.non_donatable = keep;
  auto launch = run(*executable, {a.get(), b.get()}, options);
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(read(*a), all(1));
  EXPECT_EQ(read(*launch->results[0]), all(3));
  // The same buffer twice is fine where neither is given away.
  EXPECT_TRUE(run(*executable, {a.get(), a.get()}, options).ok());
}

TEST_F(ExecutableTest, DonatedMemoryThatOthersSeeIsNotWritten) {
  auto executable = adder(0, true);
  BufferPtr b = filled(2);
  alignas(64) float host[kCount];
  std::fill(host, host + kCount, 1.f);
  HostArray array{host, kManyShape, std::nullopt, HostSemantics::immutable_zero_copy};
  auto aliased = client->bufferFromHost(array, memory);
  ASSERT_TRUE(aliased.ok());
  auto launch = run(*executable, {aliased->buffer.get(), b.get()});
  ASSERT_TRUE(launch.ok());
  EXPECT_TRUE(aliased->buffer->isDeleted());
  EXPECT_TRUE(aliased->done_with_host.isReady());
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(read(*launch->results[0]), all(3));

  BufferPtr referenced = filled(1);
  ASSERT_TRUE(referenced->increaseExternalReferences().ok());
  const auto* seen = static_cast<const float*>(*referenced->data());
  launch = run(*executable, {referenced.get(), b.get()});
  ASSERT_TRUE(launch.ok());
  EXPECT_TRUE(referenced->isDeleted());
  EXPECT_EQ(seen[0], 1);
  EXPECT_EQ(read(*launch->results[0]), all(3));
  EXPECT_TRUE(referenced->decreaseExternalReferences().ok());

  BufferPtr viewed = filled(1);
  auto view = viewed->bitcast(Shape{DType::u8, {4 * kCount}});
  launch = run(*executable, {viewed.get(), b.get()});
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(read(**view), all(1));
  EXPECT_EQ(read(*launch->results[0]), all(3));
}

TEST_F(ExecutableTest, BufferDonorsAreConsumed) {
  ProgramMaker m;
  uint32_t a = m.argument(kManyShape), b = m.argument(kManyShape), r = m.result(kManyShape);
  m.program.arguments[1].may_donate = true;
  m.run(0, m.kernel("add", add), {a, b, r}, kCount, kCount);
  auto executable = make(m);
  BufferPtr x = filled(1), y = filled(2);
  auto launch = run(*executable, {x.get(), y.get()});
  ASSERT_TRUE(launch.ok());
  EXPECT_FALSE(x->isDeleted());
  EXPECT_TRUE(y->isDeleted());
  EXPECT_EQ(read(*launch->results[0]), all(3));
}

TEST_F(ExecutableTest, AllDevicesOfOneLaunchRunTogether) {
  ExecutableOptions options;
  options.num_partitions = 2;
  auto executable = adder(0, false, true, options);
  BufferPtr a = filled(1), b = filled(2);
  Memory* other = client->devices()[1]->defaultMemory();
  BufferPtr c = filled(10, other), d = filled(20, other);
  Buffer *first[] = {a.get(), b.get()}, *second[] = {c.get(), d.get()};
  std::span<Buffer* const> lists[] = {first, second};
  auto gate = std::make_shared<Gate>();
  ExecuteOptions run_options;
  run_options.custom_calls = gate;
  auto launches = executable->execute(lists, run_options);
  ASSERT_TRUE(launches.ok()) << launches.status().message();
  gate->awaitArrivals(2);  // both are inside at the same time
  gate->release();
  EXPECT_EQ(read(*(*launches)[0].results[0]), all(3));
  EXPECT_EQ(read(*(*launches)[1].results[0]), all(30));
  EXPECT_EQ((*launches)[1].results[0]->device(), client->devices()[1]);
  std::sort(gate->devices.begin(), gate->devices.end());
  EXPECT_EQ(gate->devices, (std::vector<int>{0, 1}));
  EXPECT_EQ(executable->execute({lists, 1}, run_options).status().code(), Code::invalid_argument);
  auto single = run(*executable, {c.get(), d.get()}, run_options, client->devices()[1]);
  ASSERT_TRUE(single.ok()) << single.status().message();
  EXPECT_EQ(read(*single->results[0]), all(30));
}

TEST_F(ExecutableTest, ManyThreadsAtOnce) {
  auto small = adder(), large = adder(kSlow);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        BufferPtr a = filled(static_cast<float>(t)), b = filled(static_cast<float>(i));
        auto launch = run(i % 2 ? *small : *large, {a.get(), b.get()});
        ASSERT_TRUE(launch.ok());
        ASSERT_EQ(read(*launch->results[0]), all(static_cast<float>(t + i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ExecutableTest, MemoryIsGivenBack) {
  auto executable = adder(kSlow, true);
  {
    BufferPtr a = filled(1), b = filled(2);
    auto launch = run(*executable, {a.get(), b.get()});
    ASSERT_TRUE(launch.ok());
    EXPECT_TRUE(launch->done.await().ok());
    EXPECT_EQ(device->memoryStats().bytes_in_use, 2 * kManyShape.bytes());
  }
  EXPECT_EQ(device->memoryStats().bytes_in_use, 0);
}

TEST_F(ExecutableTest, NoMemoryIsAnError) {
  Options options;
  options.memory_limit = 1000;
  makeClient(options);
  for (double cost : {0.0, kSlow}) {
    ProgramMaker m;
    m.result({DType::f32, {1000}});
    m.program.cost = cost;
    auto executable = make(m);
    auto launch = run(*executable, {});
    if (cost == 0) {  // it runs at once
      EXPECT_EQ(launch.status().code(), Code::resource_exhausted);
      continue;
    }
    ASSERT_TRUE(launch.ok());
    EXPECT_EQ(launch->done.await().code(), Code::resource_exhausted);
    EXPECT_EQ(launch->results[0]->data().status().code(), Code::resource_exhausted);
  }
  EXPECT_EQ(device->memoryStats().bytes_in_use, 0);
}

TEST_F(ExecutableTest, ResultsGoToTheirMemoryKind) {
  ProgramMaker m;
  m.result(kManyShape);
  m.program.results[0].memory_kind = "pinned_host";
  auto executable = make(m);
  EXPECT_EQ(executable->resultMemoryKinds()[0], MemoryKind::pinned_host);
  auto launch = run(*executable, {});
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->results[0]->memory()->kindName(), "pinned_host");
  m.program.results[0].memory_kind = "vram";
  Status status = Executable::create(client.get(), m.program).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("vram"), std::string::npos);
  m.program.results[0].memory_kind = "";
  m.argument(kManyShape);
  m.program.arguments[0].memory_kind = "vram";
  EXPECT_EQ(Executable::create(client.get(), m.program).status().code(), Code::invalid_argument);
}

TEST_F(ExecutableTest, StatsAndNames) {
  auto executable = adder(0, true);
  EXPECT_EQ(executable->name(), "adder");
  CompiledMemoryStats stats = executable->memoryStats();
  EXPECT_EQ(stats.argument_bytes, 2 * kManyShape.bytes());
  EXPECT_EQ(stats.result_bytes, kManyShape.bytes());
  EXPECT_EQ(stats.alias_bytes, kManyShape.bytes());
  EXPECT_EQ(stats.temp_bytes, 64);
}

TEST_F(ExecutableTest, DeletedExecutablesDoNotRun) {
  auto executable = adder();
  BufferPtr a = filled(1), b = filled(2);
  executable->deleteCode();
  EXPECT_TRUE(executable->isDeleted());
  EXPECT_EQ(run(*executable, {a.get(), b.get()}).status().code(), Code::invalid_argument);
}

TEST_F(ExecutableTest, DeviceAssignmentsAreChecked) {
  ProgramMaker m;
  ExecutableOptions options;
  options.num_partitions = 3;
  EXPECT_EQ(Executable::create(client.get(), m.program, options).status().code(),
            Code::invalid_argument);
  options.num_partitions = 2;
  options.devices = {device};
  EXPECT_EQ(Executable::create(client.get(), m.program, options).status().code(),
            Code::invalid_argument);
  options.num_partitions = 1;
  options.devices = {client->devices()[1]};
  auto executable = make(m, options);
  EXPECT_EQ(executable->devices()[0]->id(), 1);
}

TEST_F(ExecutableTest, AProcessThatForkMadeLetsGoOfTheClient) {
  const Event done = Event::pending();
  device->enqueue([done] { done.set(Status()); });
  ASSERT_TRUE(done.await().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the queue's thread waits by then
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    client.reset();
    _exit(0);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
}

}  // namespace
}  // namespace tercel::runtime
