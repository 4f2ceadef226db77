// Every kind of step, with C++ functions for kernels.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "engine/program_maker.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::engine {
namespace {

using program::StepKind;
using test::ProgramMaker;
using test::runOn;

template <class T>
T* as(void* p) {
  return static_cast<T*>(p);
}

void addOne(void* const* p, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; ++i) as<float>(p[1])[i] = as<float>(p[0])[i] + 1;
}
void addConstant(void* const* p, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; ++i)
    as<float>(p[2])[i] = as<float>(p[0])[i] + as<float>(p[1])[i];
}
void lessThan(void* const* p, int64_t, int64_t, void*) {
  *as<uint8_t>(p[2]) = *as<int32_t>(p[0]) < *as<int32_t>(p[1]);
}
void increment(void* const* p, int64_t, int64_t, void*) { ++*as<int32_t>(p[0]); }
template <int kValue>
void store(void* const* p, int64_t, int64_t, void*) {
  *as<int32_t>(p[0]) = kValue;
}
void addIntegers(void* const* p, int64_t, int64_t, void*) {
  *as<int32_t>(p[1]) += *as<int32_t>(p[0]);
}
void zero(void* const* p, int64_t, int64_t, void*) { *as<int32_t>(p[0]) = 0; }
// Fails to be right where two calls share scratch.
void throughScratch(void* const* p, int64_t begin, int64_t end, void* scratch) {
  auto* own = as<int64_t>(scratch);
  for (int64_t i = begin; i < end; ++i) {
    for (int k = 0; k < 64; ++k) own[k] = i + k;
    int64_t sum = 0;
    for (int k = 0; k < 64; ++k) sum += own[k];
    as<int64_t>(p[0])[i] = sum;
  }
}
void lessInt(void* const* p, int64_t a, int64_t b, void* scratch) {
  *as<uint8_t>(scratch) = as<int32_t>(p[0])[a] < as<int32_t>(p[0])[b];
}

const Shape kVector{DType::f32, {4}};
const Shape kInt{DType::s32, {}};

TEST(Steps, KernelReadsArgumentsConstantsAndArena) {
  ProgramMaker m;
  float data[] = {10, 20, 30, 40};
  uint32_t a = m.argument(kVector), r = m.result(kVector), t = m.arena(16);
  uint32_t c = m.constant(data, sizeof(data));
  m.run(0, m.kernel("one", addOne), {a, t}, 4, 4);
  m.run(0, m.kernel("constant", addConstant), {t, c, r}, 4, 4);
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  for (int round = 0; round < 3; ++round) {
    float in[] = {1, 2, 3, static_cast<float>(round)}, out[4] = {};
    ASSERT_TRUE(runOn(**loaded, {in}, {out}).ok());
    EXPECT_EQ(out[0], 12);
    EXPECT_EQ(out[3], 41 + round);
  }
}

TEST(Steps, TheCallersArenaIsUsed) {
  ProgramMaker m;
  uint32_t a = m.argument(kVector), r = m.result(kVector), t = m.arena(16);
  m.run(0, m.kernel("one", addOne), {a, t}, 4, 4);
  m.copy(0, t, r);
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok());
  float in[] = {1, 2, 3, 4}, out[4] = {};
  alignas(64) float arenas[2][16] = {};
  for (auto& arena : arenas) {
    Invocation invocation;
    void* args[] = {in};
    void* results[] = {out};
    invocation.args = args;
    invocation.results = results;
    invocation.arena = arena;
    ASSERT_TRUE((*loaded)->run(invocation).ok());
    EXPECT_EQ(arena[3], 5);
    EXPECT_EQ(out[3], 5);
  }
}

TEST(Steps, ParallelKernelHasScratchOfItsOwn) {
  constexpr int64_t kTasks = 5000;
  ProgramMaker m;
  uint32_t r = m.result({DType::s64, {kTasks}});
  m.run(0, m.kernel("scratch", throughScratch, 512), {r}, kTasks, 16);
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok());
  ThreadPool pool(4);
  std::vector<int64_t> out(kTasks);
  ASSERT_TRUE(runOn(**loaded, {}, {out.data()}, &pool).ok());
  for (int64_t i = 0; i < kTasks; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], 64 * i + 2016);
}

TEST(Steps, ScratchWithoutMemoryIsAnError) {
  for (int64_t grain : {1, 100}) {
    ProgramMaker m;
    uint32_t r = m.result({DType::s64, {100}});
    m.run(0, m.kernel("scratch", throughScratch, int64_t{1} << 40), {r}, 100, grain);
    auto loaded = m.load();
    ASSERT_TRUE(loaded.ok());
    ThreadPool pool(2);
    std::vector<int64_t> out(100);
    // A machine that does have so much address space to give away cannot show the error.
    void* probe = std::aligned_alloc(64, size_t{1} << 40);
    std::free(probe);
    if (probe) GTEST_SKIP();
    Status status = runOn(**loaded, {}, {out.data()}, &pool);
    EXPECT_EQ(status.code(), Code::resource_exhausted) << status.message();
  }
}

TEST(Steps, CopyLargeAndSmall) {
  constexpr int64_t kCount = 1 << 20;
  ProgramMaker m;
  uint32_t a = m.argument({DType::s32, {kCount}}), r = m.result({DType::s32, {kCount}});
  uint32_t i = m.argument(kInt), j = m.result(kInt);
  m.copy(0, a, r);
  m.copy(0, i, j);
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok());
  std::vector<int32_t> in(kCount), out(kCount);
  for (size_t k = 0; k < in.size(); ++k) in[k] = static_cast<int32_t>(k * 3);
  int32_t one = 5, other = 0;
  ThreadPool pool(3);
  ASSERT_TRUE(runOn(**loaded, {in.data(), &one}, {out.data(), &other}, &pool).ok());
  EXPECT_EQ(in, out);
  EXPECT_EQ(other, 5);
}

// counter = 0; while (counter < limit) ++counter
struct Loop : ProgramMaker {
  Loop() {
    uint32_t limit = argument(kInt), counter = result(kInt), pred = arena(1);
    uint32_t condition = sequence(), body = sequence();
    run(0, kernel("zero", zero), {counter});
    auto& loop = step(0, StepKind::while_loop, {pred});
    loop.target = condition;
    loop.sequences = {body};
    run(condition, kernel("less", lessThan), {counter, limit, pred});
    run(body, kernel("increment", increment), {counter});
  }
};

TEST(Steps, WhileLoop) {
  auto loaded = Loop().load();
  ASSERT_TRUE(loaded.ok());
  for (int32_t limit : {-3, 0, 1, 1000}) {
    int32_t out = -1;
    ASSERT_TRUE(runOn(**loaded, {&limit}, {&out}).ok());
    EXPECT_EQ(out, std::max(limit, 0));
  }
}

TEST(Steps, NestedWhileLoops) {
  // for i < n: for j < n: ++total
  ProgramMaker m;
  uint32_t n = m.argument(kInt), total = m.result(kInt);
  uint32_t i = m.arena(4), j = m.arena(4), p = m.arena(1), q = m.arena(1);
  uint32_t outer = m.sequence(), outer_body = m.sequence();
  uint32_t inner = m.sequence(), inner_body = m.sequence();
  uint32_t zero_it = m.kernel("zero", zero), less = m.kernel("less", lessThan);
  uint32_t add = m.kernel("increment", increment);
  m.run(0, zero_it, {total});
  m.run(0, zero_it, {i});
  auto& loop = m.step(0, StepKind::while_loop, {p});
  loop.target = outer;
  loop.sequences = {outer_body};
  m.run(outer, less, {i, n, p});
  m.run(outer_body, zero_it, {j});
  auto& nested = m.step(outer_body, StepKind::while_loop, {q});
  nested.target = inner;
  nested.sequences = {inner_body};
  m.run(inner, less, {j, n, q});
  m.run(inner_body, add, {total});
  m.run(inner_body, add, {j});
  m.run(outer_body, add, {i});
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  int32_t size = 13, out = 0;
  ASSERT_TRUE(runOn(**loaded, {&size}, {&out}).ok());
  EXPECT_EQ(out, 169);
}

ProgramMaker branchOn(const Shape& selector, int count) {
  ProgramMaker m;
  uint32_t a = m.argument(selector), r = m.result(kInt);
  KernelFn functions[] = {store<100>, store<101>, store<102>};
  std::vector<uint32_t> sequences;
  for (int i = 0; i < count; ++i) {
    sequences.push_back(m.sequence());
    m.run(sequences.back(), m.kernel(cat("store", i), functions[i]), {r});
  }
  auto& step = m.step(0, StepKind::branch, {a});
  step.sequences = sequences;
  step.values = {selector.bytes()};
  return m;
}

TEST(Steps, BranchOnPred) {
  auto loaded = branchOn({DType::pred, {}}, 2).load();
  ASSERT_TRUE(loaded.ok());
  for (uint8_t pred : {0, 1}) {
    int32_t out = 0;
    ASSERT_TRUE(runOn(**loaded, {&pred}, {&out}).ok());
    EXPECT_EQ(out, pred ? 100 : 101);
  }
}

TEST(Steps, BranchOnIndexTakesTheLastWhereOutOfRange) {
  auto loaded = branchOn(kInt, 3).load();
  ASSERT_TRUE(loaded.ok());
  std::pair<int32_t, int32_t> wanted[] = {{0, 100},  {1, 101},         {2, 102},        {3, 102},
                                          {-1, 102}, {INT32_MIN, 102}, {INT32_MAX, 102}};
  for (auto [index, want] : wanted) {
    int32_t out = 0;
    ASSERT_TRUE(runOn(**loaded, {&index}, {&out}).ok());
    EXPECT_EQ(out, want) << index;
  }
}

std::atomic<int> arrived{0};
// 1 where as many as there are branches are in it at the same time.
void meet(void* const* p, int64_t, int64_t, void*) {
  ++arrived;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (arrived.load() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  *as<int32_t>(p[0]) = arrived.load() == 2;
}

TEST(Steps, BranchesOfAForkRunAtOnce) {
  ProgramMaker m;
  std::vector<uint32_t> branches;
  for (int i = 0; i < 2; ++i) {
    branches.push_back(m.sequence());
    m.run(branches.back(), m.kernel("meet", meet), {m.result(kInt)});
  }
  m.step(0, StepKind::fork, {}).sequences = branches;
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ThreadPool pool(2);
  int32_t met[2] = {};
  arrived = 0;
  ASSERT_TRUE(runOn(**loaded, {}, {&met[0], &met[1]}, &pool).ok());
  EXPECT_EQ(met[0] + met[1], 2);
}

// result[count] = count + scratch memory that is the thread's own.
void writeCount(void* const* p, int64_t, int64_t, void*) {
  *as<int32_t>(p[1]) = *as<int32_t>(p[0]) * 3;
  std::this_thread::yield();
  as<int32_t>(p[2])[*as<int32_t>(p[0])] += *as<int32_t>(p[1]);
}

TEST(Steps, TurnsOfAParallelLoopHaveMemoryOfTheirOwn) {
  constexpr int64_t kTurns = 500;
  ProgramMaker m;
  const Shape shape{DType::s32, {kTurns + 2}};
  uint32_t a = m.argument(shape), r = m.result(shape);
  m.copy(0, a, r);
  m.program.turn_bytes = 128;
  uint32_t count = m.slot(program::Place::turn, 0, 0, 4);
  uint32_t own = m.slot(program::Place::turn, 0, 64, 4);
  uint32_t body = m.sequence();
  // Once by the scratch of a kernel, which lies beside.
  m.run(body, m.kernel("scratch", throughScratch, 512), {m.slot(program::Place::turn, 0, 72, 8)});
  m.run(body, m.kernel("write", writeCount), {count, own, r});
  auto& loop = m.step(0, StepKind::parallel_loop, {count});
  loop.sequences = {body};
  loop.tasks = kTurns;
  loop.values = {2, 1, 4};
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ThreadPool pool(3);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    std::vector<int32_t> in(kTurns + 2, 7), out(kTurns + 2);
    ASSERT_TRUE(runOn(**loaded, {in.data()}, {out.data()}, threads).ok());
    for (int32_t i = 0; i < kTurns + 2; ++i)
      ASSERT_EQ(out[static_cast<size_t>(i)], i < 2 ? 7 : 7 + 3 * i);
  }
}

TEST(Steps, MemoryOfATurnIsUsedInTurnsOnly) {
  auto refused = [](auto&& change) {
    ProgramMaker m;
    m.program.turn_bytes = 64;
    uint32_t count = m.slot(program::Place::turn, 0, 0, 4), body = m.sequence();
    auto& loop = m.step(0, StepKind::parallel_loop, {count});
    loop.sequences = {body};
    loop.tasks = 3;
    loop.values = {0, 1, 4};
    change(m, count, body);
    return m.load().status().message();
  };
  EXPECT_EQ(refused([](auto&, auto, auto) {}), "");
  EXPECT_NE(refused([](auto& m, auto count, auto) {
              m.run(0, m.kernel("zero", zero), {count});
            }).find("outside of a parallel_loop"), std::string::npos);
  EXPECT_NE(refused([](auto& m, auto count, auto body) {
              auto& inner = m.step(body, StepKind::parallel_loop, {count});
              inner.sequences = {m.sequence()};
              inner.values = {0, 1, 4};
            }).find("inside of a parallel_loop"), std::string::npos);
  EXPECT_NE(refused([](auto& m, auto, auto body) {
              m.step(body, StepKind::custom_call, {}).values = program::encode({4, {}, {}});
            }).find("inside of a parallel_loop"), std::string::npos);
  EXPECT_NE(refused([](auto& m, auto, auto) {
              m.program.sequences[0][0].values = {0, 1, 2};
            })
                .find("count of 4 or 8 bytes"), std::string::npos);
  EXPECT_NE(refused([](auto& m, auto, auto) { m.program.turn_bytes = 2; })
                .find("does not lie in its memory"), std::string::npos);
}

// Each of 8 branches counts in a loop, and forks again; what follows sees all of it.
TEST(Steps, ForksWithLoopsAndForksInside) {
  constexpr int kBranches = 8;
  ProgramMaker m;
  uint32_t limit = m.argument(kInt);
  uint32_t less = m.kernel("less", lessThan), more = m.kernel("more", increment);
  uint32_t clear = m.kernel("clear", zero), add = m.kernel("add", addIntegers);
  std::vector<uint32_t> branches, counts;
  for (int i = 0; i < kBranches; ++i) {
    uint32_t count = m.arena(4), going_on = m.arena(1);
    uint32_t branch = m.sequence(), condition = m.sequence(), body = m.sequence();
    uint32_t inner = m.sequence();
    m.run(branch, clear, {count});
    m.run(condition, less, {count, limit, going_on});
    m.run(body, more, {count});
    auto& loop = m.step(branch, StepKind::while_loop, {going_on});
    loop.target = condition;
    loop.sequences = {body};
    m.step(branch, StepKind::fork, {}).sequences = {inner};
    m.run(inner, more, {count});
    branches.push_back(branch);
    counts.push_back(count);
  }
  m.step(0, StepKind::fork, {}).sequences = branches;
  uint32_t sum = m.result(kInt);
  m.run(0, clear, {sum});
  for (uint32_t count : counts) m.run(0, add, {count, sum});
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ThreadPool pool(3);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    int32_t size = 13, out = 0;
    ASSERT_TRUE(runOn(**loaded, {&size}, {&out}, threads).ok());
    EXPECT_EQ(out, kBranches * 14);
  }
}

TEST(Steps, Sort) {
  ProgramMaker m;
  Shape keys{DType::s32, {5}}, values{DType::s64, {5}};
  uint32_t k = m.argument(keys), v = m.argument(values);
  uint32_t rk = m.result(keys), rv = m.result(values);
  auto& step = m.step(0, StepKind::sort, {k, v, rk, rv});
  step.values = {1, 5, 1, 1, 4, 8};
  step.target = m.kernel("less", lessInt, 1);
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  int32_t in[] = {3, 1, 3, 0, 1}, out[5];
  int64_t index[] = {0, 1, 2, 3, 4}, order[5];
  ASSERT_TRUE(runOn(**loaded, {in, index}, {out, order}).ok());
  EXPECT_EQ(std::vector<int32_t>(out, out + 5), (std::vector<int32_t>{0, 1, 1, 3, 3}));
  EXPECT_EQ(std::vector<int64_t>(order, order + 5), (std::vector<int64_t>{3, 1, 4, 0, 2}));
}

class Doubler final : public CustomCallHandler {
 public:
  Status call(const CustomCall& call) override {
    if (call.target != "double") return unimplemented("no ", call.target);
    EXPECT_EQ(call.configuration, "by two");
    EXPECT_EQ(call.operand_bytes[0], 4);
    EXPECT_EQ(call.result_bytes[0], 4);
    EXPECT_EQ(toString(*call.signature), "(s32[]) -> (s32[])");
    EXPECT_EQ(call.run->device_id, 0);
    if (*as<int32_t>(call.operands[0]) < 0) return invalidArgument("negative");
    if (*as<int32_t>(call.operands[0]) == 0) throw std::runtime_error("nothing to double");
    *as<int32_t>(call.results[0]) = 2 * *as<int32_t>(call.operands[0]);
    return Status();
  }
};

ProgramMaker customCall(const std::string& name) {
  ProgramMaker m;
  uint32_t a = m.argument(kInt), r = m.result(kInt);
  auto& step = m.step(0, StepKind::custom_call, {a, r});
  step.values = program::encode({4, {{kInt}}, {{kInt}}});
  step.name = name;
  step.text = "by two";
  m.run(0, m.kernel("increment", increment, 64), {r});
  return m;
}

TEST(Steps, CustomCall) {
  auto loaded = customCall("double").load();
  ASSERT_TRUE(loaded.ok());
  Doubler doubler;
  int32_t in = 21, out = 0;
  ASSERT_TRUE(runOn(**loaded, {&in}, {&out}, nullptr, &doubler).ok());
  EXPECT_EQ(out, 43);
  in = -1;
  Status status = runOn(**loaded, {&in}, {&out}, nullptr, &doubler);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), "custom call double: negative");
  in = 0;
  status = runOn(**loaded, {&in}, {&out}, nullptr, &doubler);
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_NE(status.message().find("nothing to double"), std::string::npos) << status.message();
}

// The first error in the order of the program counts, thrown ones too; other branches come to an end.
TEST(Steps, ErrorsInAFork) {
  ProgramMaker m;
  std::vector<uint32_t> branches;
  for (int i = 0; i < 3; ++i) {
    branches.push_back(m.sequence());
    auto& step = m.step(branches.back(), StepKind::custom_call, {m.argument(kInt), m.result(kInt)});
    step.values = program::encode({4, {{kInt}}, {{kInt}}});
    step.name = "double";
    step.text = "by two";
  }
  m.step(0, StepKind::fork, {}).sequences = branches;
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Doubler doubler;
  ThreadPool pool(3);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    int32_t in[] = {4, 0, -1}, out[3] = {};
    Status status = runOn(**loaded, {&in[0], &in[1], &in[2]}, {&out[0], &out[1], &out[2]}, threads,
                          &doubler);
    EXPECT_EQ(status.code(), Code::internal);
    EXPECT_NE(status.message().find("nothing to double"), std::string::npos) << status.message();
    EXPECT_EQ(out[0], 8);
  }
}

TEST(Steps, AnUnknownCustomCallIsNamed) {
  auto loaded = customCall("mystery").load();
  ASSERT_TRUE(loaded.ok());
  Doubler doubler;
  int32_t in = 21, out = 0;
  for (CustomCallHandler* handler :
       {static_cast<CustomCallHandler*>(&doubler), static_cast<CustomCallHandler*>(nullptr)}) {
    Status status = runOn(**loaded, {&in}, {&out}, nullptr, handler);
    EXPECT_EQ(status.code(), Code::unimplemented);
    EXPECT_NE(status.message().find("mystery"), std::string::npos) << status.message();
  }
}

// Answers 7 to all that it is asked to replace.
class Seven final : public CustomCallHandler {
 public:
  explicit Seven(bool replaces) : replaces_(replaces) {}
  Status call(const CustomCall& call) override {
    *as<double>(call.results[0]) = 7;
    return Status();
  }
  bool replaces(std::string_view, bool) const override { return replaces_; }

 private:
  const bool replaces_;
};

TEST(Steps, LinearAlgebraIsTheEnginesUnlessAHandlerReplacesIt) {
  const Shape matrix{DType::f64, {1, 1}}, number{DType::s32, {}};
  ProgramMaker m;
  const uint32_t a = m.argument(matrix), root = m.result(matrix), info = m.result(number);
  auto& step = m.step(0, StepKind::custom_call, {a, root, info});
  step.values = program::encode({4, {{matrix}}, {{matrix}, {number}}});
  step.name = "lapack_dpotrf_ffi";
  step.text = "{uplo = 76 : u8}";
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Seven replaces(true), does_not(false);
  const std::pair<CustomCallHandler*, double> cases[] = {
      {nullptr, 3}, {&does_not, 3}, {&replaces, 7}};
  for (auto [handler, wanted] : cases) {
    double in = 9, out = 0;
    int32_t outcome = -1;
    const Status status = runOn(**loaded, {&in}, {&out, &outcome}, nullptr, handler);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(out, wanted);
  }
}

TEST(Steps, AnAliasedArgumentLivesInItsResult) {
  ProgramMaker m;
  uint32_t a = m.argument(kInt, 0);
  m.result(kInt);
  m.run(0, m.kernel("increment", increment), {a});
  auto loaded = m.load();
  ASSERT_TRUE(loaded.ok());
  int32_t in = 7, out = 0;
  ASSERT_TRUE(runOn(**loaded, {&in}, {&out}).ok());
  EXPECT_EQ(in, 7) << "an argument that was not given away was written";
  EXPECT_EQ(out, 8);
  ASSERT_TRUE(runOn(**loaded, {&in}, {&in}).ok());
  EXPECT_EQ(in, 8);
}

TEST(Steps, SeveralThreadsRunAtOnce) {
  auto loaded = Loop().load();
  ASSERT_TRUE(loaded.ok());
  ThreadPool pool(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int32_t limit = t; limit < 200; limit += 8) {
        int32_t out = -1;
        ASSERT_TRUE(runOn(**loaded, {&limit}, {&out}, &pool).ok());
        ASSERT_EQ(out, limit);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Load, AMissingKernelIsNamed) {
  ProgramMaker m;
  m.run(0, m.kernel("there", zero), {m.result(kInt)});
  m.functions.clear();
  Status status = m.load().status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("there"), std::string::npos) << status.message();
}

TEST(Load, AMalformedProgramIsRefused) {
  ProgramMaker m;
  m.run(0, 5, {});
  EXPECT_EQ(m.load().status().code(), Code::invalid_argument);
}

TEST(Load, AnotherCpusCodeIsRefused) {
  if (__builtin_cpu_supports("amx-tile")) GTEST_SKIP();
  ProgramMaker m;
  m.program.target_features = "+avx,+amx-tile";
  EXPECT_EQ(m.load().status().code(), Code::failed_precondition);
}

}  // namespace
}  // namespace tercel::engine
