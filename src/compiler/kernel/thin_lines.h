// A few long lines become as many lanes of one, or back, in registers.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// What changes places: words of so many lanes, of vectors that hold `words` of them.
struct Words {
  int lanes = 1, words = 1;
};
int64_t powerFrom(int64_t n);  // the first power of two that is not less

// Of each word of the result, which of the parts has it, and where.
using From = std::pair<int64_t, int64_t>;
V gathered(Builder& b, const std::vector<V>& parts, Words words,
           const std::function<From(int64_t)>& from);

// How many of so many words in a vector are whole columns of lines.
int64_t joinedWords(int64_t lines, int64_t words);

// lines[r] word c becomes word c * lines.size() + r of what the vectors hold together: each of them
// has joinedWords() of them, and behind these anything. No more lines than words.
std::vector<V> joinedLines(Builder& b, const std::vector<V>& lines, Words words);
// The other way round, to `lines` of them. The last vector may begin so many words earlier.
std::vector<V> partedLines(Builder& b, std::vector<V> vectors, int64_t lines, Words words,
                           int64_t early);

}  // namespace tercel::kernel
