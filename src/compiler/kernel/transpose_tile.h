// Turns a square of vectors in registers.
#pragma once
#include <algorithm>
#include <vector>

#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// lines[i] word j becomes lines[j] word i, words being of `word` lanes. As many lines as words, a
// power of two; lines may hold several such squares, side by side. Of two lines one gets the even
// blocks of 16 bytes, the other the odd ones; within 16 bytes, where x86 has instructions for it,
// pairs of lines are interleaved until their elements have changed places.
inline void transposeTile(Builder& b, std::vector<V>& lines, int word = 1) {
  int n = static_cast<int>(lines.size());
  int unit = std::min(n, 16 / word / static_cast<int>(byteSize(b.type(lines[0]).scalar)));
  const int all = b.type(lines[0]).lanes / word;
  // From word `from` of the square's two lines, `at` words from the vectors' beginning.
  auto append = [&](std::vector<int16_t>& list, int from, int at) {
    for (int lane = 0; lane < word; ++lane)
      list.push_back(
          static_cast<int16_t>((from < n ? from + at : from - n + all + at) * word + lane));
  };
  auto pair = [&](V& x, V& y, const auto& first, const auto& second) {
    std::vector<int16_t> one, two;
    for (int j = 0; j < all; ++j) {
      append(one, first(j % n), j / n * n);
      append(two, second(j % n), j / n * n);
    }
    V a = x, c = y;
    x = b.shuffle(a, c, one);
    y = b.shuffle(a, c, two);
  };
  for (int half = unit; half < n; half *= 2) {
    auto block = [&](int j, int odd) { return (2 * (j / unit) + odd) * unit + j % unit; };
    for (int i = 0; i < n; ++i)
      if ((i / half) % 2 == 0)
        pair(lines[static_cast<size_t>(i)], lines[static_cast<size_t>(i + half)],
             [&](int j) { return block(j, 0); }, [&](int j) { return block(j, 1); });
  }
  for (int done = 1; done < unit; done *= 2) {
    std::vector<V> next = lines;
    for (int i = 0; i < n; ++i) {
      int at = i % unit, group = i - at;
      if (at >= unit / 2) continue;
      V x = lines[static_cast<size_t>(i)], y = lines[static_cast<size_t>(i + unit / 2)];
      auto from = [&](int j, int skip) {
        return (j % 2 ? n : 0) + j / unit * unit + skip + j % unit / 2;
      };
      pair(x, y, [&](int j) { return from(j, 0); }, [&](int j) { return from(j, unit / 2); });
      next[static_cast<size_t>(group + 2 * at)] = x;
      next[static_cast<size_t>(group + 2 * at + 1)] = y;
    }
    lines = next;
  }
}

}  // namespace tercel::kernel
