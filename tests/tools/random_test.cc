// Random programs on native code and on the evaluator. One that fails is written down in reduced/,
// small; what lies there is run by every test.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "passes/random_module.h"
#include "tools/command_line.h"
#include "tools/edits.h"
#include "tools/failure.h"
#include "tools/reducer.h"

namespace tercel::tools {
namespace {

using Kind = Failure::Kind;

std::string reducedText(const ir::Module& module, const Trial& trial, const Failure& failure) {
  const ir::Module small = reduce(module, [&](const ir::Module& smaller) {
    return failureOf(smaller, trial).kind == failure.kind;
  });
  return cat("// ", failureOf(small, trial).message, "\n", ir::print(small));
}

// Whether the zeros in the gaps of a dilated image meet NaN in a kernel is not settled: the evaluator
// multiplies them, native code leaves them out.
bool hasDilatedImage(const ir::Module& module) {
  for (ir::OpId id : opsOfMain(module)) {
    const ir::Op& op = module.op(id);
    if (op.kind != ir::OpKind::convolution_) continue;
    for (int64_t d : op.ints(ir::AttrKey::lhs_dilation))
      if (d > 1) return true;
  }
  return false;
}

// TERCEL_SEEDS=first:count looks further.
TEST(RandomPrograms, NativeCodeComputesWhatTheEvaluatorDoes) {
  uint64_t first = 0, count = 300;
  if (const char* seeds = std::getenv("TERCEL_SEEDS")) {
    ASSERT_EQ(2, sscanf(seeds, "%lu:%lu", &first, &count));
  }
  for (uint64_t seed = first; seed < first + count; ++seed) {
    passes::RandomModule random(seed, seed % 3 != 0);
    const ir::Module module = random.make(6 + static_cast<int>(seed % 30));
    ASSERT_TRUE(ir::verify(module).ok()) << "seed " << seed;
    const bool special = seed % 2 == 1 && !hasDilatedImage(module);
    const Trial trial{.seed = static_cast<int64_t>(seed), .special = special};
    const Failure failure = failureOf(module, trial);
    if (failure.kind == Kind::none) continue;
    const std::string text = reducedText(module, trial, failure);
    const auto path = std::filesystem::path(TERCEL_REDUCED) / cat("seed_", seed, ".txt");
    std::ofstream(path) << text;
    ADD_FAILURE() << "seed " << seed << ": " << failure.message << "\n" << path << ":\n" << text;
  }
}

TEST(RandomPrograms, NoneThatHasFailedFailsAgain) {
  for (const auto& entry : std::filesystem::directory_iterator(TERCEL_REDUCED)) {
    auto bytes = readFile(entry.path());
    ASSERT_TRUE(bytes.ok()) << entry.path();
    auto module = ir::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    ASSERT_TRUE(module.ok()) << entry.path() << module.status().message();
    for (const bool special : {false, true})
      for (int64_t seed = 0; seed < 3; ++seed) {
        const Failure failure = failureOf(*module, {.seed = seed, .special = special});
        EXPECT_EQ(failure.kind, Kind::none) << entry.path() << ": " << failure.message;
      }
  }
}

}  // namespace
}  // namespace tercel::tools
