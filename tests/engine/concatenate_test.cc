// Rows of arrays side by side, as a step and as what the file may say of it.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/program_maker.h"
#include "program/validate.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::engine {
namespace {

using program::Program;
using program::StepKind;
using test::ProgramMaker;

Shape bytesOf(int64_t count) { return Shape{DType::u8, {count}}; }

ProgramMaker joining(int64_t rows, const std::vector<int64_t>& widths) {
  ProgramMaker m;
  std::vector<uint32_t> slots;
  for (int64_t width : widths) slots.push_back(m.argument(bytesOf(rows * width)));
  int64_t row = std::accumulate(widths.begin(), widths.end(), int64_t{0});
  slots.push_back(m.result(bytesOf(rows * row)));
  auto& step = m.step(0, StepKind::concatenate, slots);
  step.values = {rows};
  step.values.insert(step.values.end(), widths.begin(), widths.end());
  return m;
}

TEST(Concatenate, PutsRowsSideBySide) {
  ThreadPool pool(3);
  const std::vector<int64_t> widths{4, 0, 1, 7, 64, 16, 2, 300, 8, 32, 3, 12, 20, 33, 600};
  for (int64_t rows : {1, 2, 63, 5000}) {
    auto loaded = joining(rows, widths).load();
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    std::vector<std::vector<uint8_t>> operands;
    std::vector<void*> args;
    for (size_t i = 0; i < widths.size(); ++i) {
      operands.emplace_back(static_cast<size_t>(rows * widths[i]) + 1);
      for (size_t k = 0; k < operands[i].size(); ++k)
        operands[i][k] = static_cast<uint8_t>(k * 31 + i);
    }
    for (auto& operand : operands) args.push_back(operand.data());
    std::vector<uint8_t> wanted;
    for (int64_t r = 0; r < rows; ++r)
      for (size_t i = 0; i < widths.size(); ++i)
        wanted.insert(wanted.end(), operands[i].begin() + r * widths[i],
                      operands[i].begin() + (r + 1) * widths[i]);
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      std::vector<uint8_t> got(wanted.size());
      ASSERT_TRUE(test::runOn(**loaded, args, {got.data()}, threads).ok());
      EXPECT_EQ(got, wanted) << rows;
    }
  }
}

TEST(Concatenate, ImpossibleOnesAreRefused) {
  struct Damage {
    const char* what;
    void (*apply)(Program&);
  };
  const Damage damages[] = {
      {"a row's bytes of each", [](Program& p) { p.sequences[0][0].values.pop_back(); }},
      {"a row's bytes of each", [](Program& p) { p.sequences[0][0].slots.clear(); }},
      {"smaller than its rows", [](Program& p) { p.sequences[0][0].values[0] = -1; }},
      {"smaller than its rows", [](Program& p) { p.sequences[0][0].values[1] = -4; }},
      {"smaller than its rows", [](Program& p) { p.sequences[0][0].values[0] = 4; }},
      {"smaller than its rows",
       [](Program& p) {
         p.sequences[0][0].values[0] = p.sequences[0][0].values[1] = INT64_MAX / 2;
       }},
      {"longer than", [](Program& p) { p.sequences[0][0].values = {0, int64_t{1} << 61, 4}; }},
      {"result of concatenate is smaller",
       [](Program& p) { p.slots[p.sequences[0][0].slots[2]].bytes = 10; }},
      {"overlaps", [](Program& p) { p.sequences[0][0].slots[0] = p.sequences[0][0].slots[2]; }},
  };
  const Program right = joining(3, {4, 4}).program;
  ASSERT_TRUE(program::validate(right).ok()) << program::validate(right).message();
  for (const Damage& damage : damages) {
    Program program = right;
    damage.apply(program);
    Status status = program::validate(program);
    EXPECT_EQ(status.code(), Code::invalid_argument) << damage.what;
    EXPECT_NE(status.message().find(damage.what), std::string::npos) << status.message();
  }
  Program writes = joining(3, {4, 0}).program;
  std::swap(writes.sequences[0][0].slots[0], writes.sequences[0][0].slots[2]);
  EXPECT_NE(program::validate(writes).message().find("writes a constant or an argument"),
            std::string::npos);
}

}  // namespace
}  // namespace tercel::engine
