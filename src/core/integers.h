// Small integer arithmetic that all layers share.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

namespace tercel {

// b > 0.
constexpr int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }
constexpr int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0); }
// The next multiple of `unit`.
constexpr int64_t roundUp(int64_t a, int64_t unit) { return ceilDiv(a, unit) * unit; }

inline bool contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

}  // namespace tercel
