// Breaks an artifact in one of the ways that a reader of bytes gets wrong.
#pragma once
#include <random>
#include <string>

namespace tercel::test {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One to four changes; some take bytes from `other`.
  std::string mutate(std::string bytes, const std::string& other);
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }

 private:
  void change(std::string& bytes, const std::string& other);

  std::mt19937_64 random_;
};

}  // namespace tercel::test
