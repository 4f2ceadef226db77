// Against the comparator that the keys stand for.
#include "runtime/kernels/key_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "runtime/engine/thread_pool.h"

namespace tercel::kernels {
namespace {

// The keys of the sort under test; the comparator has nowhere else to find them.
std::vector<SortKey> current_keys;

// The order as sort_keys.h words it: -1, 0 or 1.
int compareValues(double a, double b) {
  bool a_nan = std::isnan(a), b_nan = std::isnan(b);
  if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
  return a < b ? -1 : a > b;
}

// totalOrder: bits are sign and magnitude.
template <class T>
int compareTotal(const T& a, const T& b) {
  auto rank = [](const T& x) {
    int64_t bits = 0;
    std::memcpy(&bits, &x, std::min(sizeof(T), sizeof(bits)));
    int64_t sign = int64_t{1} << (8 * std::min(sizeof(T), sizeof(bits)) - 1);
    return bits & sign ? -1 - (bits & ~sign) : bits;
  };
  return rank(a) < rank(b) ? -1 : rank(a) > rank(b);
}

template <class T>
int compareAs(const void* data, int64_t a, int64_t b, bool total) {
  const T* values = static_cast<const T*>(data);
  if (total) return compareTotal(values[a], values[b]);
  if constexpr (std::is_integral_v<T>) {
    return values[a] < values[b] ? -1 : values[a] > values[b];
  } else if constexpr (std::is_floating_point_v<T>) {
    return compareValues(values[a], values[b]);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return compareValues(static_cast<float>(values[a]), static_cast<float>(values[b]));
  } else {
    return 0;
  }
}

void byKeys(void* const* params, int64_t a, int64_t b, void* scratch) {
  int order = 0;
  for (size_t k = 0; k < current_keys.size() && order == 0; ++k) {
    order = visitDType(current_keys[k].dtype, [&]<class T>() {
      return compareAs<T>(params[k], a, b, current_keys[k].total);
    });
    if (current_keys[k].descending) order = -order;
  }
  *static_cast<uint8_t*>(scratch) = order < 0;
}

struct KeyCase {
  std::vector<DType> operands;
  const char* keys;
  int64_t outer, length, inner;
};

// Random bits, which hold all kinds of floats, among a few values that are often equal.
std::vector<std::byte> randomArray(DType dtype, int64_t elements, std::mt19937& random) {
  size_t size = byteSize(dtype);
  std::vector<std::byte> data(static_cast<size_t>(elements) * size);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  for (int64_t i = 0; i < elements; ++i) {
    std::byte* at = data.data() + static_cast<size_t>(i) * size;
    if (dtype == DType::pred) *at &= std::byte{1};
    if (random() % 3 == 0) std::memset(at, 0, size);
    if (random() % 3 == 0) at[size - 1] = std::byte{0x80};
    if (random() % 6 == 0) std::memset(at, 0xff, size);
    if (dtype == DType::pred) *at &= std::byte{1};
  }
  return data;
}

std::vector<std::vector<std::byte>> run(const KeyCase& c, std::vector<std::vector<std::byte>> in,
                                        bool by_keys, bool in_place, const Parallel& parallel,
                                        int64_t kept = -1) {
  std::vector<std::vector<std::byte>> out = in;
  std::vector<int64_t> sizes;
  std::vector<void*> from, to;
  for (size_t i = 0; i < in.size(); ++i) {
    sizes.push_back(static_cast<int64_t>(byteSize(c.operands[i])));
    to.push_back(out[i].data());
    from.push_back(in_place ? out[i].data() : in[i].data());
  }
  Sort s;
  s.compare = byKeys;
  s.outer = c.outer, s.length = c.length, s.inner = c.inner;
  s.kept = kept < 0 ? c.length : kept;
  s.element_bytes = sizes;
  s.operands = from.data();
  s.results = to.data();
  Status status = by_keys ? keySort(s, current_keys, parallel) : sort(s, parallel);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST(KeySort, SameAsTheComparator) {
  engine::ThreadPool pool(3);
  const KeyCase cases[] = {
      {{DType::f32}, "f32", 1, 3000, 1},
      {{DType::f32}, "f32", 3, 20, 2},
      {{DType::f32, DType::s32}, "f32", 2, 500, 3},
      {{DType::f32, DType::s32}, "-f32", 1, 700, 1},
      {{DType::f64, DType::u8}, "f64", 1, 1000, 1},
      {{DType::f32, DType::s32}, "-f32!", 1, 700, 1},
      {{DType::f16, DType::bf16, DType::s32}, "f16!,-bf16!", 3, 200, 1},
      {{DType::f16, DType::s64}, "f16", 1, 1000, 1},
      {{DType::bf16, DType::c128}, "bf16", 4, 100, 1},
      {{DType::s8, DType::f32}, "s8", 1, 1000, 1},
      {{DType::u8, DType::s16}, "-u8", 1, 1000, 1},
      {{DType::s16, DType::s16}, "-s16", 1, 1000, 1},
      {{DType::u16}, "u16", 1, 60, 5},
      {{DType::s32, DType::c64}, "s32", 100, 49, 1},
      {{DType::u32}, "u32", 1, 48, 1},
      {{DType::s64, DType::s32}, "s64", 1, 1000, 1},
      {{DType::u64}, "-u64", 1, 1000, 2},
      {{DType::pred, DType::s32}, "pred", 1, 1000, 1},
      {{DType::u8, DType::f32, DType::s32}, "u8,f32", 1, 2000, 1},
      {{DType::s8, DType::f32, DType::s32}, "s8,-f32,s32", 10, 30, 2},
      {{DType::pred, DType::pred, DType::s32}, "-pred,pred", 2, 300, 1},
      {{DType::f32}, "f32", 0, 3, 1},
      {{DType::f32}, "f32", 3, 1, 1},
  };
  std::mt19937 random(5);
  for (const KeyCase& c : cases) {
    auto keys = parseSortKeys(c.keys);
    ASSERT_TRUE(keys) << c.keys;
    current_keys = *keys;
    std::vector<std::vector<std::byte>> in;
    for (DType dtype : c.operands) {
      in.push_back(randomArray(dtype, c.outer * c.length * c.inner, random));
    }
    auto want = run(c, in, false, false, Parallel());
    EXPECT_EQ(run(c, in, true, false, Parallel()), want) << c.keys << ' ' << c.length;
    EXPECT_EQ(run(c, in, true, true, pool.parallel()), want) << c.keys << ' ' << c.length;
  }
}

// The front of what the comparator gives, for rows long enough to be searched instead of sorted.
TEST(KeySort, FirstElements) {
  std::mt19937 random(6);
  const KeyCase cases[] = {
      {{DType::f32, DType::s32}, "-f32!", 3, 300, 1},
      {{DType::f16, DType::s32}, "f16", 2, 100, 3},
      {{DType::f64, DType::s32}, "-f64", 1, 64, 1},
      {{DType::u8, DType::s16}, "u8", 1, 500, 2},
      {{DType::s32, DType::u8, DType::s64}, "s32,u8", 2, 90, 1},
      {{DType::bf16, DType::s32}, "-bf16!", 5, 60, 1},
      {{DType::u32, DType::s32}, "-u32", 3, 2000, 1},
      {{DType::f32, DType::s64}, "f32", 2, 4000, 2},
  };
  for (const KeyCase& c : cases) {
    current_keys = *parseSortKeys(c.keys);
    std::vector<std::vector<std::byte>> in;
    for (DType dtype : c.operands)
      in.push_back(randomArray(dtype, c.outer * c.length * c.inner, random));
    auto want = run(c, in, false, false, Parallel());
    for (int64_t kept : {1, 2, 7, 50}) {
      auto got = run(c, in, true, true, Parallel(), kept);
      for (size_t k = 0; k < in.size(); ++k) {
        int64_t size = static_cast<int64_t>(byteSize(c.operands[k])) * c.inner;
        for (int64_t o = 0; o < c.outer; ++o)
          EXPECT_EQ(std::memcmp(got[k].data() + o * c.length * size,
                                want[k].data() + o * c.length * size,
                                static_cast<size_t>(kept * size)),
                    0)
              << c.keys << ' ' << kept;
      }
    }
  }
}

TEST(KeySort, ResultsInEachOthersOperands) {
  current_keys = *parseSortKeys("s32");
  int32_t a[] = {3, 1, 2}, b[] = {10, 20, 30};
  int64_t sizes[] = {4, 4};
  void *operands[] = {a, b}, *results[] = {b, a};
  Sort s;
  s.compare = byKeys;
  s.length = s.kept = 3;
  s.element_bytes = sizes;
  s.operands = operands;
  s.results = results;
  ASSERT_TRUE(keySort(s, current_keys, Parallel()).ok());
  EXPECT_EQ(std::vector<int32_t>(b, b + 3), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(std::vector<int32_t>(a, a + 3), (std::vector<int32_t>{20, 30, 10}));
}

TEST(KeySort, WithoutMemoryIsAnError) {
  int64_t size = 1;
  void* nothing = nullptr;
  Sort s;
  s.length = int64_t{1} << 50;
  s.element_bytes = {&size, 1};
  s.operands = &nothing;
  s.results = &nothing;
  EXPECT_EQ(keySort(s, *parseSortKeys("u8"), Parallel()).code(), Code::resource_exhausted);
}

TEST(SortKeys, Parse) {
  auto keys = parseSortKeys("s32,-f64,f16!");
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 3u);
  EXPECT_TRUE((*keys)[2].total);
  EXPECT_EQ(print(*keys), "s32,-f64,f16!");
  EXPECT_EQ((*keys)[1].dtype, DType::f64);
  EXPECT_TRUE((*keys)[1].descending);
  for (const char* bad : {"", ",", "f32,", "-", "--f32", "f32 ", "c64", "x", "s32!", "!"}) {
    EXPECT_FALSE(parseSortKeys(bad)) << bad;
  }
}

}  // namespace
}  // namespace tercel::kernels
