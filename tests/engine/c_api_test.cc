#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/program_maker.h"
#include "program/format.h"
#include "program/tercel.h"

extern "C" int tercelTestLoadFromC(const void* bytes, size_t size, char* name, size_t name_size);

namespace {

using tercel::DType;
using tercel::Shape;
using tercel::program::StepKind;

// r = custom call of (a), b is a (copied), without native code.
std::vector<std::byte> programBytes() {
  tercel::test::ProgramMaker m;
  Shape shape{DType::f32, {2, 3}};
  uint32_t a = m.argument(shape, 1);
  uint32_t r = m.result(shape);
  m.result(shape);
  auto& step = m.step(0, StepKind::custom_call, {a, r});
  step.values = tercel::program::encode({4, {{shape}}, {{shape}}});
  step.name = "negate";
  step.text = "all of it";
  m.program.name = "c_program";
  return tercel::program::serialize(m.program);
}

int negate(void* user_data, const tercel_custom_call* call) {
  if (std::strcmp(call->target, "negate") != 0) return TERCEL_UNIMPLEMENTED;
  ++*static_cast<int*>(user_data);
  EXPECT_STREQ(call->configuration, "all of it");
  EXPECT_EQ(call->num_operands, 1u);
  EXPECT_EQ(call->num_results, 1u);
  EXPECT_EQ(call->operand_bytes[0], 24);
  for (int i = 0; i < 6; ++i) {
    static_cast<float*>(call->results[0])[i] = -static_cast<const float*>(call->operands[0])[i];
  }
  return TERCEL_OK;
}

int fail(void*, const tercel_custom_call*) { return 77; }

TEST(CApi, LoadQueryRunDestroy) {
  EXPECT_EQ(tercel_api_version(), TERCEL_API_VERSION);
  std::vector<std::byte> bytes = programBytes();
  tercel_load_options load = {sizeof(load), 2};
  tercel_program* program = nullptr;
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), &load, &program), TERCEL_OK)
      << tercel_error_message();
  EXPECT_STREQ(tercel_program_name(program), "c_program");
  EXPECT_EQ(tercel_program_num_arguments(program), 1u);
  EXPECT_EQ(tercel_program_num_results(program), 2u);
  tercel_array_type type;
  ASSERT_EQ(tercel_program_argument(program, 0, &type), TERCEL_OK);
  EXPECT_EQ(type.dtype, TERCEL_F32);
  EXPECT_EQ(type.rank, 2);
  EXPECT_EQ(type.dims[1], 3);
  EXPECT_EQ(type.bytes, 24);
  EXPECT_EQ(type.aliased_result, 1);
  ASSERT_EQ(tercel_program_result(program, 1, &type), TERCEL_OK);
  EXPECT_EQ(type.aliased_result, -1);
  EXPECT_EQ(tercel_program_argument(program, 1, &type), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_program_result(program, 2, &type), TERCEL_INVALID_ARGUMENT);

  float a[6] = {1, 2, 3, 4, 5, 6}, r[6] = {}, b[6] = {};
  void* args[] = {a};
  void* results[] = {r, b};
  int calls = 0;
  tercel_run_options run = {sizeof(run), negate, &calls};
  ASSERT_EQ(tercel_program_run(program, args, results, &run), TERCEL_OK) << tercel_error_message();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(r[5], -6);
  EXPECT_EQ(b[5], 6);
  EXPECT_EQ(a[5], 6);

  EXPECT_EQ(tercel_program_run(program, args, results, nullptr), TERCEL_UNIMPLEMENTED);
  EXPECT_NE(std::strstr(tercel_error_message(), "negate"), nullptr) << tercel_error_message();
  run.custom_call = fail;
  EXPECT_EQ(tercel_program_run(program, args, results, &run), TERCEL_UNKNOWN);
  tercel_program_destroy(program);
  tercel_program_destroy(nullptr);
}

TEST(CApi, BadFilesAreErrors) {
  std::vector<std::byte> bytes = programBytes();
  tercel_program* program = nullptr;
  EXPECT_EQ(tercel_program_load("nonsense", 8, nullptr, &program), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(program, nullptr);
  EXPECT_STRNE(tercel_error_message(), "");
  EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size() - 1, nullptr, &program),
            TERCEL_DATA_LOSS);
  EXPECT_EQ(tercel_program_load(nullptr, 0, nullptr, &program), TERCEL_INVALID_ARGUMENT);
  EXPECT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, nullptr),
            TERCEL_INVALID_ARGUMENT);
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK);
  tercel_program_destroy(program);
}

TEST(CApi, ResultsAnywhere) {
  std::vector<std::byte> bytes = programBytes();
  tercel_program* program = nullptr;
  ASSERT_EQ(tercel_program_load(bytes.data(), bytes.size(), nullptr, &program), TERCEL_OK);
  alignas(64) float memory[64] = {0, 1, 2, 3, 4, 5, 6};
  int calls = 0;
  tercel_run_options run = {sizeof(run), negate, &calls};
  void* args[] = {memory + 1};
  void* results[] = {memory + 33, memory + 1};  // the second is the argument itself
  ASSERT_EQ(tercel_program_run(program, args, results, &run), TERCEL_OK);
  EXPECT_EQ(memory[33 + 5], -6);
  EXPECT_EQ(memory[33 + 6], 0);
  EXPECT_EQ(memory[1 + 5], 6);
  tercel_program_destroy(program);
}

TEST(CApi, FromC) {
  std::vector<std::byte> bytes = programBytes();
  char name[32] = {};
  EXPECT_EQ(tercelTestLoadFromC(bytes.data(), bytes.size(), name, sizeof(name)), TERCEL_OK);
  EXPECT_STREQ(name, "c_program");
  EXPECT_EQ(tercelTestLoadFromC("no", 2, name, sizeof(name)), TERCEL_INVALID_ARGUMENT);
}

}  // namespace
