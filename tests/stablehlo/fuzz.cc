// Fuzzes the reader: stablehlo_fuzz CORPUS SECONDS [SEED]; stablehlo_fuzz FILE reads one input.
// Inputs that reach code no input before them had reached are kept and changed further. Whatever
// bytes come, reading ends in order: with a module that prints and parses back, or a proper error.
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/layout_modes.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/stablehlo/reader.h"
#include "stablehlo/coverage.h"
#include "stablehlo/mutator.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)());
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_abort=1:max_allocation_size_mb=1024";
}

namespace tercel::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxBytes = 4096;  // of an artifact of the corpus that is changed
constexpr int kMaxCpuSeconds = 20;  // for one input
constexpr size_t kRecent = 64;      // inputs kept last are changed more often
constexpr const char* kFinding = "fuzz_finding.bc";

const std::string* current = nullptr;

void saveCurrent() {
  if (current == nullptr) return;
  std::ofstream(kFinding, std::ios::binary) << *current;
  std::fprintf(stderr, "stablehlo_fuzz: the input is in %s; stablehlo_fuzz %s repeats it\n",
               kFinding, kFinding);
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "stablehlo_fuzz: %s\n", why.c_str());
  saveCurrent();
  std::_Exit(1);
}

void limitCpuTime() {
  itimerval limit = {};
  limit.it_value.tv_sec = kMaxCpuSeconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}

void expectTextReturns(const ir::Module& module) {
  std::string text = ir::print(module);
  Result<ir::Module> again = ir::parse(text);
  if (!again.ok()) fail(cat("its text does not parse: ", again.status().message()));
  if (ir::print(*again) != text) fail("its text does not print the same again");
}

void read(const std::string& input) {
  current = &input;
  limitCpuTime();
  // A copy that is no longer than it must be: reads past its end are seen.
  std::vector<char> bytes(input.begin(), input.end());
  Result<ir::Module> module = stablehlo::readStablehlo(std::as_bytes(std::span(bytes)));
  if (module.ok()) {
    if (ir::applyLayoutModes(*module).ok() && ir::verify(*module).ok()) expectTextReturns(*module);
  } else {
    Code code = module.status().code();
    if (module.status().message().empty()) fail("an error without a message");
    if (code != Code::invalid_argument && code != Code::unimplemented &&
        code != Code::resource_exhausted)
      fail(cat("a wrong code: ", module.status().message()));
  }
  current = nullptr;
}

std::string load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(cat("cannot read ", path.string()));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> corpusOf(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".bc" && entry.file_size() <= kMaxBytes)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) inputs.push_back(load(path));
  return inputs;
}

int fuzz(std::vector<std::string> kept, double seconds, uint64_t seed) {
  Mutator mutator(seed);
  const size_t given = kept.size();
  for (const std::string& input : kept) read(input);
  std::printf("stablehlo_fuzz: %zu artifacts reach %zu places; seed %llu\n", given, allPlaces(),
              static_cast<unsigned long long>(seed));
  uint64_t tried = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (; Clock::now() < end; ++tried) {
    size_t range = mutator.below(2) ? std::min(kRecent, kept.size()) : kept.size();
    const std::string& base = kept[kept.size() - 1 - mutator.below(range)];
    std::string input = mutator.mutate(base, kept[mutator.below(kept.size())]);
    startInput();
    read(input);
    if (newPlaces() > 0 && input.size() <= 2 * kMaxBytes) kept.push_back(std::move(input));
  }
  std::printf("stablehlo_fuzz: %llu inputs, %zu of them reached new places, %zu places in all\n",
              static_cast<unsigned long long>(tried), kept.size() - given, allPlaces());
  return tried > 0 ? 0 : 1;
}

}  // namespace

int fuzzMain(int argc, char** argv) {
  __sanitizer_set_death_callback(saveCurrent);
  std::signal(SIGPROF, [](int) { fail(cat("more than ", kMaxCpuSeconds, " s of work")); });
  if (argc == 2 && std::filesystem::is_regular_file(argv[1])) {
    read(load(argv[1]));
    return 0;
  }
  if (argc < 3) fail("usage: stablehlo_fuzz CORPUS SECONDS [SEED], or stablehlo_fuzz FILE");
  std::vector<std::string> corpus = corpusOf(argv[1]);
  if (corpus.empty()) fail(cat("no artifacts in ", argv[1]));
  return fuzz(std::move(corpus), std::atof(argv[2]),
              argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
}

}  // namespace tercel::test

int main(int argc, char** argv) { return tercel::test::fuzzMain(argc, argv); }
