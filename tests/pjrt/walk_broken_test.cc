// Programs whose bytes are cut or changed: an error of the right code or a program that runs, and
// everything else in the process goes on.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "walk.h"

namespace walk {
namespace {

constexpr int kBreaksOfAnArtifact = 40;
constexpr size_t kMaxArtifactBytes = 6000;

class BrokenTest : public Walk {
 protected:
  void SetUp() override {
    Walk::SetUp();
    if (!isTercel()) GTEST_SKIP() << "XLA aborts on some";
    good_ = compileAdd();
    a_ = makeBuffer({1, 2, 3, 4});
    b_ = makeBuffer({10, 20, 30, 40});
  }

  void TearDown() override {
    if (good_) {
      expectAdds(good_);
      EXPECT_EQ(read(a_), (std::vector<float>{1, 2, 3, 4}));
      EXPECT_EQ(read(b_), (std::vector<float>{10, 20, 30, 40}));
      for (PJRT_Buffer* buffer : {a_, b_}) destroy(buffer);
      destroy(good_);
    }
    Walk::TearDown();
  }

  // Compiles; what compiles is run on two f32[4], which it may refuse.
  void tryProgram(const std::string& bytes) {
    PJRT_LoadedExecutable* executable = nullptr;
    const Outcome outcome = compile(bytes, "mlir", kOneDevice, executable);
    if (!isOrderly(outcome)) return;
    if (outcome.code == PJRT_Error_Code_OK) runAndDestroy(executable);
  }

  void runAndDestroy(PJRT_LoadedExecutable* executable) {
    std::vector<PJRT_Buffer*> outputs;
    isOrderly(run(executable, {a_, b_}, outputs));
    for (PJRT_Buffer* output : outputs)
      if (output) destroy(output);
    destroy(executable);
  }

  static bool isOrderly(const Outcome& outcome) {
    const bool orderly = outcome.code == PJRT_Error_Code_OK ||
                         (!outcome.message.empty() &&
                          (outcome.code == PJRT_Error_Code_INVALID_ARGUMENT ||
                           outcome.code == PJRT_Error_Code_UNIMPLEMENTED ||
                           outcome.code == PJRT_Error_Code_FAILED_PRECONDITION ||  // open sizes
                           outcome.code == PJRT_Error_Code_RESOURCE_EXHAUSTED));
    EXPECT_TRUE(orderly) << outcome;
    return orderly;
  }

  PJRT_LoadedExecutable* good_ = nullptr;
  PJRT_Buffer* a_ = nullptr;
  PJRT_Buffer* b_ = nullptr;
};

TEST_F(BrokenTest, EveryCutAndEveryBit) {
  const std::string bytes(kAddBytecode);
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE("cut at " + std::to_string(size));
    tryProgram(bytes.substr(0, size));
  }
  std::string broken = bytes;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    SCOPED_TRACE("bit " + std::to_string(bit));
    broken[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    tryProgram(broken);
    broken[bit / 8] = bytes[bit / 8];
  }
}

// Bits of what JAX sends, beyond what the reader refuses: through passes, plan and code.
TEST_F(BrokenTest, ProgramsOfTheCorpus) {
  const char* corpus = std::getenv("WALK_CORPUS");
  if (corpus == nullptr || !std::filesystem::exists(corpus)) GTEST_SKIP() << "no corpus";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(corpus))
    if (entry.path().string().ends_with("@1.17.0.bc") && entry.file_size() <= kMaxArtifactBytes)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::mt19937 random(1);
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (int i = 0; i < kBreaksOfAnArtifact; ++i) {
      const size_t bit = random() % (8 * bytes.size());
      SCOPED_TRACE(path.filename().string() + ", bit " + std::to_string(bit));
      std::string broken = bytes;
      broken[bit / 8] ^= static_cast<char>(1 << (bit % 8));
      tryProgram(broken);
    }
  }
}

TEST_F(BrokenTest, SavedPrograms) {
  PJRT_Executable* executable = unloaded(good_);
  WALK_ARGS(Executable_Serialize, bytes);
  bytes.executable = executable;
  WALK_OK(Executable_Serialize, bytes);
  destroy(executable);
  std::string saved(bytes.serialized_bytes, bytes.serialized_bytes_size);
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  WALK_ARGS(Executable_DeserializeAndLoad, args);
  args.client = client;
  args.serialized_executable = saved.data();
  args.serialized_executable_size = saved.size();
  for (size_t bit = 0; bit < 8 * saved.size(); bit += 61) {
    saved[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_NE(WALK_CALL(Executable_DeserializeAndLoad, args), PJRT_Error_Code_OK) << bit;
    saved[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
  WALK_OK(Executable_DeserializeAndLoad, args);
  expectAdds(args.loaded_executable);
  destroy(args.loaded_executable);
}

}  // namespace
}  // namespace walk
