// KeyRanks for vectors of TERCEL_VECTOR_BYTES, which the file that includes this defines. Internal
// to it: the same functions exist for several instruction sets.
#pragma once
#include "runtime/kernels/key_ranks.h"

namespace tercel::kernels {
namespace {

constexpr int64_t kLanes = TERCEL_VECTOR_BYTES / 4;
constexpr int64_t kLongest = 4 * kLanes;  // ranks cost the square of the length
constexpr int64_t kMost = 16;
constexpr int64_t kCandidates = 64;
constexpr int64_t kLongestSelected = 4096;
constexpr int64_t kBlock = 32;  // is searched where it has a candidate at all

typedef int32_t Keys __attribute__((vector_size(TERCEL_VECTOR_BYTES)));

Keys loadKeys(const int32_t* from) {
  Keys v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}

// Narrow keys are the first bits of a word, whose order is theirs.
template <class U>
void readKeys(const KeyForm& form, const std::byte* row, int64_t stride, int64_t n, int32_t* keys) {
  constexpr int kShift = 32 - 8 * static_cast<int>(sizeof(U));
  auto bits = [](const std::byte* from) {
    U u;
    __builtin_memcpy(&u, from, sizeof(U));
    return static_cast<uint32_t>(u) << kShift;
  };
  constexpr auto kSize = static_cast<int64_t>(sizeof(U));
  const KeyMasks<uint32_t> masks(form);
  auto asKey = [](uint32_t order) { return static_cast<int32_t>(order ^ 0x80000000u); };
  if (stride != kSize)
    for (int64_t i = 0; i < n; ++i) keys[i] = asKey(masks.order(bits(row + i * stride)));
  else if (masks.hasEqualBits())
    for (int64_t i = 0; i < n; ++i) keys[i] = asKey(masks.order(bits(row + i * kSize)));
  else
    for (int64_t i = 0; i < n; ++i) keys[i] = asKey(masks.orderOfBits(bits(row + i * kSize)));
  for (int64_t i = n; i < n + kKeySlack; ++i) keys[i] = 0x7fffffff;
}

// Writes places of n keys by rank; of equal ones the first goes first. n is at most kCandidates,
// and whole vectors can be loaded.
void orderByRank(const int32_t* keys, int64_t n, uint32_t* order) {
  int32_t ranks[kCandidates + kLanes];
  Keys ids;
  for (int64_t l = 0; l < kLanes; ++l) ids[l] = static_cast<int32_t>(l);
  for (int64_t v = 0; v < n; v += kLanes) {
    const Keys own = loadKeys(keys + v);
    const int64_t end = v + kLanes < n ? v + kLanes : n;
    Keys rank = {};
    for (int64_t j = 0; j < v; ++j) rank -= keys[j] <= own;
    for (int64_t j = v; j < end; ++j)
      rank -= (keys[j] < own) | ((keys[j] == own) & (static_cast<int32_t>(j - v) < ids));
    for (int64_t j = end; j < n; ++j) rank -= keys[j] < own;
    __builtin_memcpy(ranks + v, &rank, sizeof(rank));
  }
  for (int64_t i = 0; i < n; ++i) order[ranks[i]] = static_cast<uint32_t>(i);
}

// The least key of each of kGroups groups, whose members are as far apart, is one of as many that
// differ in place: what does not come before the `kept`-th of them, ties apart, is not wanted.
template <int64_t kGroups>
int32_t boundOf(const int32_t* keys, int64_t n, int64_t kept) {
  int32_t least[kGroups + kLanes];
  for (int64_t g = 0; g < kGroups; g += kLanes) {
    Keys best = loadKeys(keys + g);
    for (int64_t i = g + kGroups; i < n; i += kGroups) {
      const Keys next = loadKeys(keys + i);
      best = next < best ? next : best;
    }
    __builtin_memcpy(least + g, &best, sizeof(best));
  }
  uint32_t order[kGroups];
  orderByRank(least, kGroups, order);
  return least[order[kept - 1]];
}

// Places whose keys are no greater than the bound; how many, or more than kCandidates.
int64_t collect(const int32_t* keys, int64_t n, int32_t bound, uint32_t* places) {
  int64_t count = 0;
  for (int64_t i = 0; i < n && count <= kCandidates; i += kBlock) {
    Keys any = {};
    for (int64_t l = 0; l < kBlock; l += kLanes) any |= loadKeys(keys + i + l) <= bound;
    int32_t hits = 0;
    for (int64_t l = 0; l < kLanes; ++l) hits |= any[l];
    if (!hits) continue;
    const int64_t end = i + kBlock < n ? i + kBlock : n;
    for (int64_t j = i; j < end; ++j) {
      places[count] = static_cast<uint32_t>(j);
      count += keys[j] <= bound;
    }
  }
  return count;
}

bool select(const int32_t* keys, int64_t n, int64_t kept, uint32_t* order) {
  const int32_t bound = kept <= 4 ? boundOf<16>(keys, n, kept) : boundOf<32>(keys, n, kept);
  uint32_t places[kCandidates + 1 + kBlock], ranked[kCandidates];
  const int64_t count = collect(keys, n, bound, places);
  if (count > kCandidates) return false;
  int32_t chosen[kCandidates + kLanes];
  for (int64_t c = 0; c < count; ++c) chosen[c] = keys[places[c]];
  for (int64_t c = count; c < count + kLanes; ++c) chosen[c] = 0x7fffffff;
  orderByRank(chosen, count, ranked);
  for (int64_t k = 0; k < kept; ++k) order[k] = places[ranked[k]];
  return true;
}

bool orderRow(const KeyForm& form, const std::byte* row, int64_t stride, int64_t n, int64_t kept,
              int32_t* keys, uint32_t* order) {
  const bool all = n <= kLongest;
  if (!all && (n > kLongestSelected || kept > kMost || kept > n / 4)) return false;
  form.bytes == 1   ? readKeys<uint8_t>(form, row, stride, n, keys)
  : form.bytes == 2 ? readKeys<uint16_t>(form, row, stride, n, keys)
                    : readKeys<uint32_t>(form, row, stride, n, keys);
  if (!all) return select(keys, n, kept, order);
  orderByRank(keys, n, order);
  return true;
}

}  // namespace

namespace TERCEL_ISA {
extern const KeyRanks key_ranks{kLongest, kMost, kLongestSelected, orderRow};
}  // namespace TERCEL_ISA

}  // namespace tercel::kernels
