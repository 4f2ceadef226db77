#include "compiler/kernel/thin_lines.h"

namespace tercel::kernel {
namespace {

// For each word of a result: its number in (a, b), or -1 for any.
V shuffleWords(Builder& b, Words words, V x, V y, const std::function<int64_t(int64_t)>& from) {
  if (!x.valid()) return {};
  const bool both = y.valid();
  if (!both) y = x;
  std::vector<int16_t> list;
  for (int64_t word = 0; word < words.words; ++word) {
    int64_t at = from(word);
    if (!both && at >= words.words) at = -1;
    for (int64_t lane = 0; lane < words.lanes; ++lane)
      list.push_back(static_cast<int16_t>(at < 0 ? -1 : at * words.lanes + lane));
  }
  return b.shuffle(x, y, list);
}

// Fewer steps than by powers of two, or more lines than these could hold.
bool isGathered(int64_t lines, int64_t words) {
  return lines == 3 || lines == 5 || powerFrom(lines) > words;
}

}  // namespace

// Vector after vector is put in where its words go.
V gathered(Builder& b, const std::vector<V>& parts, Words words,
           const std::function<From(int64_t)>& from) {
  std::vector<int64_t> used;
  for (int64_t p = 0; p < static_cast<int64_t>(parts.size()); ++p)
    for (int64_t w = 0; w < words.words; ++w)
      if (from(w).first == p && (used.empty() || used.back() != p)) used.push_back(p);
  V all = parts[static_cast<size_t>(used[0])];
  if (used.size() == 1)
    return shuffleWords(b, words, all, {}, [&](int64_t w) { return from(w).second; });
  for (size_t k = 1; k < used.size(); ++k)
    all = shuffleWords(b, words, all, parts[static_cast<size_t>(used[k])],
                       [&](int64_t w) -> int64_t {
      const auto [part, word] = from(w);
      if (part == used[k]) return words.words + word;
      return part > used[k] ? -1 : k == 1 ? word : w;
    });
  return all;
}

int64_t powerFrom(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

int64_t joinedWords(int64_t lines, int64_t words) {
  return isGathered(lines, words) ? words : words / powerFrom(lines) * lines;
}

// Each round interleaves pairs of vectors: a bit of the line's number goes below the column's bits,
// whose highest says which vector of the two. The last one leaves out the lines that are not there.
std::vector<V> joinedLines(Builder& b, const std::vector<V>& lines, Words words) {
  const auto count = static_cast<int64_t>(lines.size());
  const int64_t all = powerFrom(count), n = words.words;
  std::vector<V> now = lines;
  if (isGathered(count, n)) {
    for (int64_t r = 0; r < count; ++r)
      now[static_cast<size_t>(r)] = gathered(b, lines, words, [&](int64_t w) {
        return From((r * n + w) % count, (r * n + w) / count);
      });
    return now;
  }
  now.resize(static_cast<size_t>(all));
  for (int64_t half = all / 2; half > 0; half /= 2) {
    std::vector<V> next = now;
    for (int64_t i = 0; i < all; ++i) {
      if (i / half % 2) continue;
      for (int64_t upper = 0; upper < 2; ++upper)
        next[static_cast<size_t>(i + upper * half)] = shuffleWords(
            b, words, now[static_cast<size_t>(i)], now[static_cast<size_t>(i + half)],
            [&](int64_t w) -> int64_t {
              if (half == 1) w = w / count < n / all ? w / count * all + w % count : -1;
              return w < 0 ? -1 : w % 2 * n + upper * n / 2 + w / 2;
            });
    }
    now = next;
  }
  return now;
}

std::vector<V> partedLines(Builder& b, std::vector<V> vectors, int64_t lines, Words words,
                           int64_t early) {
  const int64_t all = static_cast<int64_t>(vectors.size()), n = words.words;
  std::vector<V> parted;
  if (isGathered(lines, n)) {
    for (int64_t r = 0; r < lines; ++r)
      parted.push_back(gathered(b, vectors, words, [&](int64_t w) {
        return From((w * lines + r) / n, (w * lines + r) % n);
      }));
    return parted;
  }
  // Where word w of a vector is, columns being `all` words.
  auto placeOf = [&](int64_t w, bool is_last) {
    return w % all < lines ? w / all * lines + w % all + (is_last ? early : 0) : -1;
  };
  for (int64_t half = 1; half < all; half *= 2) {
    std::vector<V> next = vectors;
    for (int64_t i = 0; i < all; ++i) {
      if (i / half % 2) continue;
      for (int64_t odd = 0; odd < 2; ++odd) {
        if ((i + odd * half) % (2 * half) >= lines) continue;
        next[static_cast<size_t>(i + odd * half)] = shuffleWords(
            b, words, vectors[static_cast<size_t>(i)], vectors[static_cast<size_t>(i + half)],
            [&](int64_t w) -> int64_t {
              const int64_t of = 2 * w / n, within = (2 * w + odd) % n;
              if (half > 1) return of * n + within;
              const int64_t place = placeOf(within, i + of == all - 1);
              return place < 0 ? -1 : of * n + place;
            });
      }
    }
    vectors = next;
  }
  vectors.resize(static_cast<size_t>(lines));
  return vectors;
}

}  // namespace tercel::kernel
