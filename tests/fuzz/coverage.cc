#include "fuzz/coverage.h"

#include <bitset>
#include <cstdint>

namespace tercel::test {
namespace {

// A place is a step from one basic block to the next, hashed. Threads that race lose one at most.
constexpr size_t kPlaces = size_t{1} << 18;
std::bitset<kPlaces> reached;
thread_local uintptr_t previous = 0;
size_t fresh = 0;
size_t all = 0;

}  // namespace

void startInput() {
  previous = 0;
  fresh = 0;
}

size_t newPlaces() { return fresh; }
size_t allPlaces() { return all; }

}  // namespace tercel::test

// Called by each basic block of what is compiled with -fsanitize-coverage=trace-pc.
extern "C" void __sanitizer_cov_trace_pc() {
  using namespace tercel::test;
  auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  auto place = reached[((here >> 1) ^ (previous << 5)) % kPlaces];
  previous = here;
  if (place) return;
  place = true;
  ++fresh;
  ++all;
}
