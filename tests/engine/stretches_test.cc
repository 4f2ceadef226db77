// Which neighbouring kernel steps run at the same time, and that they do.
#include "runtime/engine/stretches.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "engine/program_maker.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::engine {
namespace {

using program::Place;
using test::ProgramMaker;
using test::runOn;

const Shape kRow{DType::f32, {4}};

void nothing(void* const*, int64_t, int64_t, void*) {}

class SideBySide : public testing::Test, protected ProgramMaker {
 protected:
  // A step that reads all slots and writes those at `written`.
  void add(std::vector<uint32_t> slots, std::vector<int64_t> written, double cost = 30e3,
           int64_t tasks = 1) {
    run(0, kernel("nothing", nothing), std::move(slots), tasks, 1);
    program.sequences[0].back().values = std::move(written);
    program.sequences[0].back().cost = cost;
  }
  std::string found() {
    std::string text;
    for (const Stretch& s : findStretches(program, program.sequences[0]))
      text += cat('[', s.begin, ',', s.end, ") by ", s.grain, ' ');
    return text;
  }
};

TEST_F(SideBySide, StepsThatReadTheSame) {
  uint32_t a = argument(kRow);
  for (int i = 0; i < 5; ++i) add({a, result(kRow)}, {1});
  EXPECT_EQ(found(), "[0,5) by 1 ");
}

TEST_F(SideBySide, CheapStepsInGroups) {
  uint32_t a = argument(kRow);
  for (int i = 0; i < 40; ++i) add({a, result(kRow)}, {1}, 1e3);
  EXPECT_EQ(found(), "[0,40) by 11 ");
  for (auto& step : program.sequences[0]) step.cost = 400;
  EXPECT_EQ(found(), "");
}

TEST_F(SideBySide, WhatIsReadMustBeThere) {
  uint32_t a = argument(kRow), t = arena(16), u = arena(16), r = result(kRow);
  add({a, t}, {1});
  add({a, u}, {1});
  add({t, u, r}, {2});
  EXPECT_EQ(found(), "[0,2) by 1 ");
}

TEST_F(SideBySide, WhatIsReadIsNotOverwritten) {
  uint32_t a = argument(kRow), t = arena(16);
  add({a, t}, {1});
  add({t, result(kRow)}, {1});
  add({a, t}, {1});
  EXPECT_EQ(found(), "");
}

TEST_F(SideBySide, PiecesOfTheArena) {
  arena(256);
  auto piece = [&](int64_t offset, int64_t bytes) { return slot(Place::arena, 0, offset, bytes); };
  uint32_t a = argument(kRow);
  add({a, piece(0, 64)}, {1});
  add({a, piece(64, 64)}, {1});
  add({a, piece(192, 64)}, {1});
  add({a, piece(128, 65)}, {1});  // its last byte is the third's
  EXPECT_EQ(found(), "[0,3) by 1 ");
}

TEST_F(SideBySide, ADonatedArgumentLiesInItsResult) {
  uint32_t a = argument(kRow, 0), b = argument(kRow);
  uint32_t r = result(kRow), other = result(kRow);
  add({b, r}, {1});
  add({a, other}, {1});
  EXPECT_EQ(found(), "");
}

TEST_F(SideBySide, UnknownWritesAndManyTasksStandAlone) {
  uint32_t a = argument(kRow);
  add({a, result(kRow)}, {1});
  add({a, result(kRow)}, {});
  add({a, result(kRow)}, {1});
  add({a, result(kRow)}, {1}, 1e6, 100);
  add({a, result(kRow)}, {1});
  EXPECT_EQ(found(), "");
}

TEST_F(SideBySide, WritesAreChecked) {
  uint32_t a = argument(kRow), r = result(kRow);
  add({a, r}, {2});
  EXPECT_FALSE(load().ok());
  program.sequences[0][0].values = {0};
  EXPECT_FALSE(load().ok());
  program.sequences[0][0].values = {1};
  EXPECT_TRUE(load().ok());
}

std::atomic<int> inside{0};

// 1 where the other of two runs at the same time.
void await(void* const* p, int64_t, int64_t, void*) {
  ++inside;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (inside.load() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  *static_cast<int32_t*>(p[0]) = inside.load() == 2;
}

TEST_F(SideBySide, RunAtTheSameTime) {
  const Shape kInt{DType::s32, {}};
  for (int i = 0; i < 2; ++i) {
    run(0, kernel("await", await), {result(kInt)});
    program.sequences[0].back().values = {0};
    program.sequences[0].back().cost = 1e6;
  }
  auto loaded = load();
  ASSERT_TRUE(loaded.ok());
  ThreadPool pool(2);
  int32_t met[2] = {};
  inside = 0;
  ASSERT_TRUE(runOn(**loaded, {}, {&met[0], &met[1]}, &pool).ok());
  EXPECT_EQ(met[0] + met[1], 2);
}

}  // namespace
}  // namespace tercel::engine
