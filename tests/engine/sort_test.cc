#include "runtime/kernels/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/engine/thread_pool.h"

namespace tercel::kernels {
namespace {

void lessByKey(void* const* params, int64_t a, int64_t b, void* scratch) {
  const auto* keys = static_cast<const int32_t*>(params[0]);
  *static_cast<uint8_t*>(scratch) = keys[a] < keys[b];
}

void never(void* const*, int64_t, int64_t, void* scratch) { *static_cast<uint8_t*>(scratch) = 0; }

// NaN is less than nothing and nothing is less than NaN: no order at all where there are some.
void lessByFloat(void* const* params, int64_t a, int64_t b, void* scratch) {
  const auto* keys = static_cast<const float*>(params[0]);
  *static_cast<uint8_t*>(scratch) = keys[a] < keys[b];
}

struct SortCase {
  int64_t outer, length, inner;
};

struct Data {
  std::vector<int32_t> keys;
  std::vector<int64_t> positions;  // in the row: shows the permutation
};

Data makeData(const SortCase& c) {
  std::mt19937 random(7);
  Data data;
  for (int64_t i = 0; i < c.outer * c.length * c.inner; ++i) {
    data.keys.push_back(static_cast<int32_t>(random() % 100));  // many equal ones
    data.positions.push_back(i / c.inner % c.length);
  }
  return data;
}

Data expected(const SortCase& c, const Data& in) {
  Data out = in;
  for (int64_t o = 0; o < c.outer; ++o) {
    for (int64_t k = 0; k < c.inner; ++k) {
      auto at = [&](int64_t i) { return static_cast<size_t>((o * c.length + i) * c.inner + k); };
      std::vector<int64_t> order(static_cast<size_t>(c.length));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return in.keys[at(a)] < in.keys[at(b)]; });
      for (int64_t i = 0; i < c.length; ++i) {
        out.keys[at(i)] = in.keys[at(order[static_cast<size_t>(i)])];
        out.positions[at(i)] = in.positions[at(order[static_cast<size_t>(i)])];
      }
    }
  }
  return out;
}

Status sortData(const SortCase& c, Data& from, Data& to, const Parallel& parallel) {
  int64_t bytes[] = {4, 8};
  void* operands[] = {from.keys.data(), from.positions.data()};
  void* results[] = {to.keys.data(), to.positions.data()};
  Sort s;
  s.compare = lessByKey;
  s.scratch_bytes = 1;
  s.outer = c.outer, s.length = c.length, s.inner = c.inner;
  s.element_bytes = bytes;
  s.operands = operands;
  s.results = results;
  return sort(s, parallel);
}

TEST(Sort, IsStableAlongAnyDimensionWithAnyThreads) {
  engine::ThreadPool pool(3);
  const SortCase cases[] = {{1, 1, 1},     {1, 2, 1},    {3, 0, 2},    {0, 5, 1},    {1, 17, 1},
                            {5, 16, 3},    {100, 33, 1}, {2, 100, 7},  {1, 4096, 1}, {1, 4097, 1},
                            {1, 20000, 1}, {3, 9000, 1}, {1, 5000, 2}, {40, 4500, 1}};
  for (const SortCase& c : cases) {
    Data in = makeData(c), want = expected(c, in);
    for (const Parallel& parallel : {Parallel(), pool.parallel()}) {
      Data from = in, out = in;
      ASSERT_TRUE(sortData(c, from, out, parallel).ok());
      EXPECT_EQ(out.keys, want.keys) << c.outer << "," << c.length << "," << c.inner;
      EXPECT_EQ(out.positions, want.positions);
      EXPECT_EQ(from.keys, in.keys) << "operands were written";
      ASSERT_TRUE(sortData(c, from, from, parallel).ok());  // in place
      EXPECT_EQ(from.keys, want.keys) << "in place";
      EXPECT_EQ(from.positions, want.positions) << "in place";
    }
  }
}

TEST(Sort, EveryElementSize) {
  for (int64_t bytes : {1, 2, 4, 8, 16}) {
    std::vector<int32_t> keys = {3, 1, 2}, sorted(3);
    std::vector<uint8_t> values(static_cast<size_t>(3 * bytes)), moved(values.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i);
    int64_t sizes[] = {4, bytes};
    void* operands[] = {keys.data(), values.data()};
    void* results[] = {sorted.data(), moved.data()};
    Sort s;
    s.compare = lessByKey;
    s.length = 3;
    s.element_bytes = sizes;
    s.operands = operands;
    s.results = results;
    ASSERT_TRUE(sort(s, Parallel()).ok());
    EXPECT_EQ(sorted, (std::vector<int32_t>{1, 2, 3}));
    for (int64_t i = 0; i < 3 * bytes; ++i) {
      int64_t row[] = {1, 2, 0};
      EXPECT_EQ(moved[static_cast<size_t>(i)], row[i / bytes] * bytes + i % bytes) << bytes;
    }
  }
}

TEST(Sort, WithoutAnOrderNothingIsLostAndThreadsDoNotMatter) {
  engine::ThreadPool pool(4);
  std::mt19937 random(3);
  std::vector<float> keys(30000);
  for (float& key : keys) key = random() % 3 ? static_cast<float>(random() % 1000) : NAN;
  std::vector<float> first(keys.size()), second(keys.size());
  int64_t size = 4;
  for (auto* out : {&first, &second}) {
    void* operand = keys.data();
    void* result = out->data();
    Sort s;
    s.compare = lessByFloat;
    s.length = static_cast<int64_t>(keys.size());
    s.element_bytes = {&size, 1};
    s.operands = &operand;
    s.results = &result;
    ASSERT_TRUE(sort(s, out == &first ? Parallel() : pool.parallel()).ok());
  }
  EXPECT_EQ(0, memcmp(first.data(), second.data(), first.size() * sizeof(float)));
  auto nans = [](const std::vector<float>& v) {
    return std::count_if(v.begin(), v.end(), [](float x) { return x != x; });
  };
  EXPECT_EQ(nans(first), nans(keys));
}

TEST(Sort, WithoutMemoryIsAnError) {
  int64_t size = 1;
  void* nothing = nullptr;
  Sort s;
  s.compare = never;
  s.length = int64_t{1} << 55;
  s.element_bytes = {&size, 1};
  s.operands = &nothing;
  s.results = &nothing;
  EXPECT_EQ(sort(s, Parallel()).code(), Code::resource_exhausted);
}

}  // namespace
}  // namespace tercel::kernels
