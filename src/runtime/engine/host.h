// What this process may use of the machine it runs on.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/architecture.h"
#include "core/status.h"

namespace tercel::engine {

// CPUs by affinity and by the quota of its cgroups, rounded up; at least 1.
int availableCpus();
// `wanted`, or availableCpus() for 0.
inline int threadsFor(int64_t wanted) {
  return wanted > 0 ? static_cast<int>(wanted) : availableCpus();
}

// Bytes of memory that the machine and its cgroups allow in all.
int64_t availableMemory();

// FAILED_PRECONDITION where code was made for another architecture, or for `features`
// ("+avx2,+fma,-avx512f") of which this CPU lacks one.
Status checkCpu(Architecture architecture, std::string_view features);

}  // namespace tercel::engine
