// Elements of any type that are only moved, as words of as many bytes.
#pragma once
#include <concepts>
#include <cstdint>

namespace tercel {

struct Word16 {
  uint64_t half[2];
};

// Calls f.template operator()<Word>() for elements of 1, 2, 4, 8 or 16 bytes.
template <class F>
decltype(auto) visitWord(std::integral auto bytes, F&& f) {
  switch (bytes) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
    case 16: return f.template operator()<Word16>();
    default: __builtin_unreachable();
  }
}

}  // namespace tercel
