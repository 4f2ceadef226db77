// Breaks an input in one of the ways that readers of bytes or text get wrong.
#pragma once
#include <random>
#include <string>
#include <utility>

namespace tercel::test {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One to four changes; some take what they put there from `other`.
  std::string mutate(std::string input, const std::string& other, bool is_text = false);
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }

 private:
  void changeBytes(std::string& bytes, const std::string& other);
  void changeWords(std::string& text, const std::string& other);
  void changeLines(std::string& text, const std::string& other);
  // [first, end) of a word or a line of a text; empty where it has none.
  using Piece = std::pair<size_t, size_t>;
  Piece wordOf(const std::string& text);
  Piece lineOf(const std::string& text);

  std::mt19937_64 random_;
};

}  // namespace tercel::test
