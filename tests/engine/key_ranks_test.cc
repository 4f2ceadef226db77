// Each instruction set's ranks against a stable sort by the meaning of the keys.
#include "runtime/kernels/key_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "core/sort_keys.h"
#include "runtime/kernels/isa.h"

namespace tercel::kernels {

#define TERCEL_KEY_RANKS(isa)      \
  namespace isa {                   \
  extern const KeyRanks key_ranks;  \
  }
TERCEL_ISAS(TERCEL_KEY_RANKS)

namespace {

std::vector<const KeyRanks*> ranksOfThisMachine() {
  std::vector<const KeyRanks*> all;
#define TERCEL_ADD_RANKS(isa) \
  if (isaOfThisMachine() >= Isa::isa) all.push_back(&isa::key_ranks);
  TERCEL_ISAS(TERCEL_ADD_RANKS)
  return all;
}

// The places of a row's elements in order; elements are `step` apart.
template <class T, class Before>
std::vector<uint32_t> inOrder(const std::vector<T>& row, size_t step, Before before) {
  std::vector<uint32_t> places(row.size() / step);
  std::iota(places.begin(), places.end(), 0u);
  std::ranges::stable_sort(places, [&](uint32_t a, uint32_t b) {
    return before(row[a * step], row[b * step]);
  });
  return places;
}

template <class T, class Before>
void expectOrder(const KeyForm& form, const std::vector<T>& row, size_t step, int64_t kept,
                 bool must_be_ordered, Before before) {
  const auto n = static_cast<int64_t>(row.size() / step);
  std::vector<uint32_t> want = inOrder(row, step, before);
  for (const KeyRanks* ranks : ranksOfThisMachine()) {
    std::vector<int32_t> keys(static_cast<size_t>(n + kKeySlack));
    std::vector<uint32_t> order(static_cast<size_t>(std::max(ranks->longest, ranks->most)));
    const bool done = ranks->order(form, reinterpret_cast<const std::byte*>(row.data()),
                                   static_cast<int64_t>(step * sizeof(T)), n, kept, keys.data(),
                                   order.data());
    if (must_be_ordered && (n <= ranks->longest || kept <= n / 4)) {
      EXPECT_TRUE(done) << n << ' ' << kept;
    }
    if (!done) continue;
    EXPECT_TRUE(std::equal(order.begin(), order.begin() + kept, want.begin())) << n << ' ' << kept;
  }
}

constexpr int64_t kLengths[] = {1, 2, 15, 16, 17, 33, 63, 64, 65, 100, 1000, 4096};

TEST(KeyRanks, NumbersThatDiffer) {
  std::mt19937 random(3);
  for (int64_t n : kLengths)
    for (int64_t kept : {1, 3, 5, 16})
      for (size_t step : {1, 3}) {
        if (kept > n) continue;
        std::vector<float> row(static_cast<size_t>(n) * step);
        for (float& x : row) x = std::normal_distribution<float>()(random);
        const KeyForm form = formOf({DType::f32, true, true});
        expectOrder(form, row, step, kept, true, std::greater<>());
      }
}

TEST(KeyRanks, EqualOnesStayInOrder) {
  std::mt19937 random(4);
  for (int64_t n : kLengths)
    for (uint32_t values : {1u, 3u, 200u}) {
      std::vector<int8_t> bytes(static_cast<size_t>(n));
      std::vector<uint32_t> words(static_cast<size_t>(n));
      for (int8_t& x : bytes) x = static_cast<int8_t>(random() % values - values / 2);
      for (uint32_t& x : words) x = 0x7fffffffu + random() % values;
      const int64_t kept = std::min<int64_t>(n, 6);
      expectOrder(formOf({DType::s8}), bytes, 1, kept, false, std::less<>());
      expectOrder(formOf({DType::u32, true}), words, 1, kept, false, std::greater<>());
    }
}

TEST(KeyRanks, NanIsLastAndZerosAreEqual) {
  std::mt19937 random(5);
  const float choices[] = {0.0f, -0.0f, NAN, -NAN, INFINITY, -INFINITY, 1e-40f, -1.5f, 2.0f};
  auto before = [](float a, float b) { return std::isnan(a) ? false : std::isnan(b) || a < b; };
  for (int64_t n : kLengths)
    for (bool is_descending : {false, true}) {
      std::vector<float> row(static_cast<size_t>(n));
      for (float& x : row) x = choices[random() % std::size(choices)];
      const KeyForm form = formOf({DType::f32, is_descending});
      expectOrder(form, row, 1, std::min<int64_t>(n, 9), false, [&](float a, float b) {
        return is_descending ? before(b, a) : before(a, b);
      });
    }
}

}  // namespace
}  // namespace tercel::kernels
