// Random bits as arithmetic are, to the last bit, those of the op: every algorithm, element type and
// form of the state, and sizes that do not fill a block.
#include <gtest/gtest.h>

#include "compiler/eval/evaluator.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"
#include "contract.h"

namespace tercel::passes {
namespace {

struct State {
  std::string_view algorithm, type, value;
};

// The counters are about to carry into their high words.
constexpr State kStates[] = {
    {"THREE_FRY", "u64[2]", "81985529216486895, 18446744073709551614"},
    {"THREE_FRY", "u64[2]", "81985529216486895, 4294967295"},
    {"THREE_FRY", "u32[4]", "19088743, 2309737967, 4294967293, 7"},
    {"PHILOX", "u64[2]", "81985529216486895, 18446744073709551614"},
    {"PHILOX", "u64[3]", "81985529216486895, 18446744073709551614, 1234605616436508552"},
    {"PHILOX", "u32[6]", "19088743, 2309737967, 4294967295, 4294967295, 4294967295, 5"},
    {"DEFAULT", "u32[4]", "19088743, 2309737967, 4294967295, 4294967295"},
};

constexpr std::string_view kTypes[] = {"u8", "s8", "u16", "s16", "u32", "s32",
                                       "u64", "s64", "f16", "bf16", "f32", "f64"};
constexpr std::string_view kShapes[] = {"", "1", "2", "3", "5", "8", "2,3", "3,2",
                                        "3,3", "1,5", "5,1,3", "3,4,5", "67"};

std::string program(const State& state, std::string_view bits) {
  return cat("module @m {\n func @main() -> (", state.type, ", ", bits,
             ") {\n  %s = constant() {value = ", state.type, " (", state.value, ")} : ", state.type,
             "\n  %n, %b = rng_bit_generator(%s) {rng_algorithm = ", state.algorithm, "} : ",
             state.type, ", ", bits, "\n  return %n, %b\n }\n}\n");
}

void expectSame(const State& state, std::string_view bits) {
  Result<ir::Module> module = ir::parse(program(state, bits));
  ASSERT_TRUE(module.ok()) << module.status().message();
  ASSERT_TRUE(ir::verify(*module).ok());
  auto expected = eval::evaluate(*module, module->main(), {});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  Status passed = runPass("expand", *module, {.verify = true});
  ASSERT_TRUE(passed.ok()) << passed.message();
  std::string text = ir::print(*module);
  ASSERT_EQ(text.find("rng_bit_generator"), text.npos) << text;
  auto actual = eval::evaluate(*module, module->main(), {});
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  EXPECT_EQ((*expected)[0], (*actual)[0]) << "state, " << state.algorithm << ' ' << bits;
  EXPECT_EQ((*expected)[1], (*actual)[1]) << "bits, " << state.algorithm << ' ' << bits;
}

TEST(Random, ExpansionGivesTheOpsBits) {
  for (const State& state : kStates)
    for (std::string_view type : kTypes)
      for (std::string_view shape : kShapes) expectSame(state, cat(type, '[', shape, ']'));
}

TEST(Random, ExpansionKeepsThePipelinesContract) {
  Result<ir::Module> module = ir::parse(program(kStates[1], "u16[5,3]"));
  ASSERT_TRUE(module.ok());
  ASSERT_TRUE(runPipeline(*module, {.verify = true}).ok());
  EXPECT_EQ("", contractViolation(*module));
}

}  // namespace
}  // namespace tercel::passes
