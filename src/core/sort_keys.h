// What a sort's comparator is known to do, so that the runtime need not call it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace tercel {

// The first operands compared one after the other: integers by value; floats by value too, with
// -0 equal to +0 and every NaN equal to every other and above all numbers.
struct SortKey {
  DType dtype = DType::f32;
  bool descending = false;  // the exact reverse, NaN first
  bool total = false;       // floats as IEEE 754's totalOrder: -NaN, numbers with -0 below +0, NaN
};

// "f32" or "s32,-f64!": one dtype for each key, a minus before a descending one, an exclamation mark
// after one in total order. Nothing where that is not what `text` is, or a dtype has no such order.
std::optional<std::vector<SortKey>> parseSortKeys(std::string_view text);
std::string print(const std::vector<SortKey>& keys);

}  // namespace tercel
