// Fuzzes what reads: tercel_fuzz TARGET ARTIFACTS SECONDS [SEED], where `all` shares the time among
// the targets; tercel_fuzz TARGET FILE repeats one input. Inputs that reach code no input before them had reached are kept and changed further.
// Whatever comes, reading ends in order: with something that can be written again, or a refusal.
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/status.h"
#include "fuzz/coverage.h"
#include "fuzz/mutator.h"
#include "fuzz/targets.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)());
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_abort=1:max_allocation_size_mb=1024";
}
extern "C" __attribute__((visibility("default"))) const char* __ubsan_default_options() {
  return "abort_on_error=1:print_stacktrace=1";
}

namespace tercel::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxCpuSeconds = 20;      // for one input
constexpr size_t kRecent = 64;          // inputs kept last are changed more often
constexpr size_t kMaxKeptBytes = 8192;  // larger inputs take too long

struct Current {
  const Target* target = nullptr;
  const std::string* input = nullptr;
} current;

void saveCurrent() {
  if (current.input == nullptr) return;
  const std::string name = cat("fuzz_finding.", current.target->is_text ? "txt" : "bin");
  std::ofstream(name, std::ios::binary) << *current.input;
  std::fprintf(stderr, "tercel_fuzz: the input is in %s; tercel_fuzz %s %s repeats it\n",
               name.c_str(), current.target->name.data(), name.c_str());
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "tercel_fuzz: %s\n", why.c_str());
  saveCurrent();
  std::_Exit(1);
}

void limitCpuTime() {
  itimerval limit = {};
  limit.it_value.tv_sec = kMaxCpuSeconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}

void run(const Target& target, const std::string& input) {
  current = {&target, &input};
  limitCpuTime();
  try {
    target.run(input);
  } catch (const Finding& finding) {
    fail(finding.why);
  } catch (const CheckFailure& failure) {
    fail(failure.message);
  }
  current = {};
}

struct Count {
  uint64_t tried = 0;
  size_t kept = 0;  // of those tried, for what they reached
};

Count fuzz(const Target& target, std::vector<std::string> inputs, double seconds, uint64_t seed) {
  Mutator mutator(seed);
  const size_t given = inputs.size();
  for (const std::string& input : inputs) run(target, input);
  uint64_t tried = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (; Clock::now() < end; ++tried) {
    size_t range = mutator.below(2) ? std::min(kRecent, inputs.size()) : inputs.size();
    const std::string& base = inputs[inputs.size() - 1 - mutator.below(range)];
    std::string input = mutator.mutate(base, inputs[mutator.below(inputs.size())], target.is_text);
    startInput();
    run(target, input);
    if (newPlaces() > 0 && input.size() <= kMaxKeptBytes) inputs.push_back(std::move(input));
  }
  return {tried, inputs.size() - given};
}

void report(std::string_view what, const Count& count) {
  std::printf("%.*s: %llu inputs, %zu of them reached new places, %zu places in all\n",
              static_cast<int>(what.size()), what.data(),
              static_cast<unsigned long long>(count.tried), count.kept, allPlaces());
  std::fflush(stdout);
}

int fuzzEach(std::span<const Target> chosen, const char* artifacts, double seconds,
             uint64_t seed) {
  Count all;
  for (const Target& target : chosen) {
    std::vector<std::string> examples = target.examples(artifacts);
    if (examples.empty()) fail(cat("no examples for ", target.name, " in ", artifacts));
    const Count count =
        fuzz(target, std::move(examples), seconds / static_cast<double>(chosen.size()), seed);
    report(target.name, count);
    all.tried += count.tried;
    all.kept += count.kept;
  }
  report("tercel_fuzz", all);
  return all.tried > 0 ? 0 : 1;
}

[[noreturn]] void usage() {
  std::string names;
  for (const Target& known : targets()) names += cat(" ", known.name);
  fail(cat("usage: tercel_fuzz TARGET ARTIFACTS SECONDS [SEED], or tercel_fuzz TARGET FILE; targets:",
           names, ", or all"));
}

}  // namespace

int fuzzMain(int argc, char** argv) {
  __sanitizer_set_death_callback(saveCurrent);
  std::signal(SIGPROF, [](int) { fail(cat("more than ", kMaxCpuSeconds, " s of work")); });
  if (argc < 3) usage();
  const Target* target = findTarget(argv[1]);
  std::span<const Target> chosen;
  if (target) chosen = {target, 1};
  else if (std::string_view(argv[1]) == "all") chosen = targets();
  if (target && argc == 3 && std::filesystem::is_regular_file(argv[2])) {
    run(*target, loadFile(argv[2]));
    return 0;
  }
  if (chosen.empty() || argc < 4) usage();
  return fuzzEach(chosen, argv[2], std::atof(argv[3]),
                  argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
}

}  // namespace tercel::test

int main(int argc, char** argv) { return tercel::test::fuzzMain(argc, argv); }
