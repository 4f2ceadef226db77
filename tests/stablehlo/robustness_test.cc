// Broken artifacts: cut at every byte, every bit flipped, bytes replaced at random. Whatever they
// read as, reading ends, in order. For ASan and UBSan. The corpus: TERCEL_STABLEHLO_CORPUS.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "compiler/stablehlo/reader.h"
#include "stablehlo/program_writer.h"

namespace tercel::stablehlo {
namespace {

// Artifacts up to this size are broken in every place, larger ones in a few.
constexpr size_t kExhaustiveBytes = 1200;
constexpr size_t kExhaustiveArtifacts = 40;
constexpr int kRandomBreaks = 12;

bool endsInOrder(const std::string& bytes) {
  // A copy of its own: reads past its end are seen.
  std::vector<std::byte> copy(bytes.size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(copy.data()));
  Result<ir::Module> module = readStablehlo(copy);
  if (module.ok()) return true;
  Code code = module.status().code();
  return !module.status().message().empty() &&
         (code == Code::invalid_argument || code == Code::unimplemented ||
          code == Code::resource_exhausted || code == Code::failed_precondition);
}

void breakEverywhere(const std::string& bytes) {
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    ASSERT_TRUE(endsInOrder(bytes.substr(0, cut))) << "cut at " << cut;
  std::string broken = bytes;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    broken[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    ASSERT_TRUE(endsInOrder(broken)) << "bit " << bit;
    broken[bit / 8] = bytes[bit / 8];
  }
}

void breakAtRandom(const std::string& bytes, std::mt19937& random) {
  for (int i = 0; i < kRandomBreaks; ++i) {
    std::string broken = bytes;
    for (uint32_t k = random() % 4; k-- > 0;)
      broken[random() % broken.size()] = static_cast<char>(random());
    if (i % 3 == 0) broken.resize(random() % broken.size());
    if (i % 5 == 0) broken.insert(random() % (broken.size() + 1), 1 + random() % 8, '\1');
    ASSERT_TRUE(endsInOrder(broken)) << "break " << i;
  }
}

std::string smallProgram() {
  ProgramWriter p;
  uint32_t one = p.w.attr(kVhlo, varints({5, 1})), no = p.w.attr(kVhlo, varints({2, 0}));
  uint32_t list = p.w.attr(kVhlo, varints({1, 0})), name = p.w.text("f");
  uint32_t pair = p.w.type(kVhlo, varints({23, 2, p.f32x2, p.f32x2}));
  p.add("custom_call_v1", {0}, {p.f32x2}, {one, name, name, list, no, list, list, list});
  p.add("tuple_v1", {0, 1}, {pair});
  p.ret({1});
  return p.finish({p.f32x2});
}

TEST(StablehloRobustness, SmallProgramBrokenEverywhere) { breakEverywhere(smallProgram()); }

TEST(StablehloRobustness, CorpusBroken) {
  const char* corpus = std::getenv("TERCEL_STABLEHLO_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "no corpus";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(corpus))
    if (entry.path().extension() == ".bc") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::mt19937 random(1);
  std::shuffle(paths.begin(), paths.end(), random);
  size_t exhaustive = 0;
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename());
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    if (bytes.size() <= kExhaustiveBytes && exhaustive++ < kExhaustiveArtifacts)
      breakEverywhere(bytes);
    else
      breakAtRandom(bytes, random);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tercel::stablehlo
