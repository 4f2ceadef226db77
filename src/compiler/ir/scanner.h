// Reads words, numbers and punctuation off a text; errors carry line:column of the place.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace tercel::ir {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool atEnd();
  char peek();  // the next character that is no space or // comment; 0 at the end
  // Takes `punctuation` / `word` if it comes next.
  bool accept(std::string_view punctuation);
  bool acceptWord(std::string_view word);
  Status expect(std::string_view punctuation);
  Status expectWord(std::string_view word);

  Result<std::string_view> word();
  Result<std::string> quoted();
  Result<std::string> wordOrQuoted();
  Result<int64_t> integer();
  // %name, without the sign.
  Result<std::string_view> valueName();
  // The longest run of characters an array element may have: -1.5e+10, nan:0x7fc00000, true.
  std::string_view element();

  // An error at the start of what was read last, or at what comes next.
  template <class... Args>
  Status errorAtLast(const Args&... args) const {
    return errorAt(last_, cat(args...));
  }
  template <class... Args>
  Status errorHere(const Args&... args) {
    skipSpace();
    return errorAt(at_, cat(args...));
  }

 private:
  void skipSpace();
  std::string_view takeWhile(bool (*belongs)(char));
  Status errorAt(size_t at, std::string_view message) const;

  std::string_view text_;
  size_t at_ = 0;
  size_t last_ = 0;
};

}  // namespace tercel::ir
