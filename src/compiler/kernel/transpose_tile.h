// Turns a square of vectors in registers.
#pragma once
#include <vector>

#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// lines[i] lane j becomes lines[j] lane i. As many lines as lanes, a power of two: log2 steps of
// shuffles, each exchanging blocks half the size of the last.
inline void transposeTile(Builder& b, std::vector<V>& lines) {
  int n = static_cast<int>(lines.size());
  for (int half = n / 2; half >= 1; half /= 2) {
    std::vector<int16_t> low, high;
    for (int j = 0; j < n; ++j) {
      bool second = (j / half) % 2;
      low.push_back(static_cast<int16_t>(second ? n + j - half : j));
      high.push_back(static_cast<int16_t>(second ? n + j : j + half));
    }
    for (int i = 0; i < n; ++i) {
      if ((i / half) % 2) continue;
      V a = lines[static_cast<size_t>(i)], c = lines[static_cast<size_t>(i + half)];
      lines[static_cast<size_t>(i)] = b.shuffle(a, c, low);
      lines[static_cast<size_t>(i + half)] = b.shuffle(a, c, high);
    }
  }
}

}  // namespace tercel::kernel
