// How many places a window has along one dimension of a padded, dilated array.
#pragma once
#include <cstdint>

namespace tercel::ir {

struct WindowDim {
  int64_t size = 0;  // of the array, before dilation and padding
  int64_t window = 1;
  int64_t stride = 1;
  int64_t base_dilation = 1;
  int64_t window_dilation = 1;
  int64_t low = 0;  // padding; negative crops
  int64_t high = 0;
};

// Places from the first of n elements to the last, where they are so many apart.
template <class Int>
constexpr Int dilated(Int n, Int dilation) {
  return n == 0 ? 0 : (n - 1) * dilation + 1;
}

// Wide, because attributes hold any 64-bit numbers. Strides and dilations must be positive.
inline __int128 windowCount(const WindowDim& d) {
  using Wide = __int128;
  Wide padded = Wide{d.low} + dilated<Wide>(d.size, d.base_dilation) + d.high;
  Wide window = dilated<Wide>(d.window, d.window_dilation);
  if (padded <= 0 || window > padded) return 0;
  return (padded - window) / d.stride + 1;
}

}  // namespace tercel::ir
