// Calls whose matrices are done side by side, in the lanes of vectors.
#pragma once
#include "runtime/kernels/isa.h"
#include "runtime/linalg/arguments.h"
#include "runtime/linalg/lanes.h"

namespace tercel::linalg {

// Whether a batch is worth it whose elements are of so many numbers.
bool suitsLanes(Index batch, Index numbers);
// Whether the call's matrices are as many and as small as lanes are for: so that scratch stays in
// the nearer caches.
bool isBatchOfSmall(const program::CallSignature& signature);
// And for iterations by rotations, where lanes wait for one another. They pay for a side of as many
// rows as there are lanes, times `worth`, where all lanes are full.
bool isBatchForRotations(const program::CallSignature& signature, double worth);
// The same for factorisations and triangles, which may be larger where they fill all lanes some
// times.
[[gnu::cold]] bool isBatchForLanes(const program::CallSignature& signature);
// And as small as pays where one matrix alone fills vectors, too: of up to `worth` rows for each of
// the square root of the lanes, of real numbers and where a second operand is small more, and of less
// where lanes are empty.
[[gnu::cold]] bool isBatchForLanes(const program::CallSignature& signature, float worth);

// Numbers between the columns of a matrix in lanes: not all of them in a few sets of a cache.
inline Index laneLead(Index rows) { return rows >= 32 && rows % 16 == 0 ? rows + 1 : rows; }

// job.first and count, and memory for `numbers` of each matrix, for as many matrices at a time as
// there are lanes. `cost` is one matrix's floating-point operations.
template <class T>
Status forEachInLanes(const Call& call, Index batch, double cost, Index numbers,
                      const lanes::Job<T>& job, void (*run)(const lanes::Job<T>&)) {
  const Index side = kernels::vectorBytes(kernels::chosenIsa()) / Index{sizeof(Real<T>)};
  return forEachIn(call, (batch + side - 1) / side, cost + numbers, [&](Index group) {
    kernels::KeptMemory<T> scratch;
    lanes::Job<T> part = job;
    part.first = group * side;
    part.count = std::min(side, batch - part.first);
    part.scratch = scratch.take(numbers * side);
    run(part);
  });
}

}  // namespace tercel::linalg
