#include "runtime/ffi/data_type.h"

#include <array>
#include <string_view>

namespace tercel::ffi {
namespace {

struct Row {
  std::string_view name;
  XLA_FFI_DataType number;
};

constexpr Row kRows[] = {
    {"pred", 1},        {"s8", 2},          {"s16", 3},          {"s32", 4},
    {"s64", 5},         {"u8", 6},          {"u16", 7},          {"u32", 8},
    {"u64", 9},         {"f16", 10},        {"f32", 11},         {"f64", 12},
    {"c64", 15},        {"bf16", 16},       {"c128", 18},        {"f8E5M2", 19},
    {"f8E4M3FN", 20},   {"s4", 21},         {"u4", 22},          {"f8E4M3B11FNUZ", 23},
    {"f8E5M2FNUZ", 24}, {"f8E4M3FNUZ", 25}, {"s2", 26},          {"u2", 27},
    {"f8E4M3", 28},     {"f8E3M4", 29},     {"f4E2M1FN", 32},    {"f8E8M0FNU", 33},
};

constexpr auto kNumbers = [] {
  constexpr std::string_view kNames[] = {
#define DTYPE(id, name, bits, cls, type) name,
#include "core/dtypes.def"
  };
  std::array<XLA_FFI_DataType, kDTypeCount> numbers{};
  for (size_t i = 0; i < kDTypeCount; ++i) {
    for (const Row& row : kRows) {
      if (row.name == kNames[i]) numbers[i] = row.number;
    }
  }
  return numbers;
}();

}  // namespace

XLA_FFI_DataType dataTypeOf(DType dtype) { return kNumbers[static_cast<size_t>(dtype)]; }

}  // namespace tercel::ffi
