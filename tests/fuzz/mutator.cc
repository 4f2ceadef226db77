#include "fuzz/mutator.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace tercel::test {
namespace {

constexpr size_t kLongestPiece = 32;
// Ends of ranges, and first bytes of varints of every length.
constexpr unsigned char kTelling[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x07, 0x08, 0x0f, 0x10,
                                      0x20, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xfe, 0xff};

// Ends of ranges, and values that mean something of their own.
constexpr std::string_view kTellingWords[] = {
    "0", "1", "-1", "2", "3", "64", "65", "4294967296", "-9223372036854775808",
    "9223372036854775807", "18446744073709551616", "nan", "inf", "1e308", "true", "false", "pred",
    "s4", "u8", "s32", "s64", "bf16", "f8E4M3FN", "f32", "f64", "c64", "token"};

bool isOfWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

}  // namespace

std::string Mutator::mutate(std::string input, const std::string& other, bool is_text) {
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t kind = is_text ? below(8) : 0;
    if (kind == 0) changeBytes(input, other);
    else if (kind < 6) changeWords(input, other);
    else changeLines(input, other);
  }
  return input;
}

// A run of letters and digits, or one other character.
Mutator::Piece Mutator::wordOf(const std::string& text) {
  if (text.empty()) return {};
  size_t first = below(text.size()), end = first + 1;
  if (!isOfWord(text[first])) return {first, end};
  while (first > 0 && isOfWord(text[first - 1])) --first;
  while (end < text.size() && isOfWord(text[end])) ++end;
  return {first, end};
}

Mutator::Piece Mutator::lineOf(const std::string& text) {
  if (text.empty()) return {};
  const size_t at = below(text.size());
  size_t first = text.rfind('\n', at == 0 ? 0 : at - 1), end = text.find('\n', at);
  first = first == text.npos || first >= at ? 0 : first + 1;
  return {first, end == text.npos ? text.size() : end + 1};
}

void Mutator::changeWords(std::string& text, const std::string& other) {
  const auto [first, end] = wordOf(text);
  const auto [here, here_end] = wordOf(text);
  const auto [there, there_end] = wordOf(other);
  switch (below(5)) {
    case 0: text.replace(first, end - first, other, there, there_end - there); break;
    case 1: text.replace(first, end - first, text.substr(here, here_end - here)); break;
    case 2: text.replace(first, end - first, kTellingWords[below(std::size(kTellingWords))]); break;
    case 3: text.erase(first, end - first); break;
    case 4: text.insert(first, text.substr(here, here_end - here)); break;
  }
}

void Mutator::changeLines(std::string& text, const std::string& other) {
  const auto [first, end] = lineOf(text);
  const auto [here, here_end] = lineOf(text);
  const auto [there, there_end] = lineOf(other);
  switch (below(4)) {
    case 0: text.insert(first, other, there, there_end - there); break;
    case 1: text.insert(first, text.substr(here, here_end - here)); break;
    case 2: text.erase(first, end - first); break;
    case 3: text.replace(first, end - first, text.substr(here, here_end - here)); break;
  }
}

void Mutator::changeBytes(std::string& bytes, const std::string& other) {
  if (bytes.empty()) bytes.push_back('\0');
  size_t at = below(bytes.size());
  size_t length = 1 + below(std::min(kLongestPiece, bytes.size() - at));
  switch (below(8)) {
    case 0: bytes[at] ^= static_cast<char>(1 << below(8)); break;
    case 1: bytes[at] = static_cast<char>(below(256)); break;
    case 2: bytes[at] = static_cast<char>(kTelling[below(std::size(kTelling))]); break;
    case 3: bytes[at] += static_cast<char>(below(2) ? 2 : -2); break;  // the next varint of a byte
    case 4: bytes.erase(at, length); break;
    case 5: bytes.insert(below(bytes.size()), bytes.substr(at, length)); break;
    case 6: {  // over what is there, so that offsets stay
      if (other.empty()) break;
      std::string piece = other.substr(below(other.size()), length);
      bytes.replace(at, piece.size(), piece);
      break;
    }
    case 7:
      if (below(8) == 0) bytes.resize(at);
      else std::swap(bytes[at], bytes[below(bytes.size())]);
      break;
  }
}

}  // namespace tercel::test
