// The words of the text form that printer and parser must agree on.
#pragma once
#include <string>
#include <string_view>

#include "compiler/ir/module.h"

namespace tercel::ir {

// Literals of more elements than this print as hexadecimal bytes.
inline constexpr int64_t kMaxPrintedElements = 64;

// The word in front of the i-th region of an op.
std::string_view regionKeyword(OpKind kind, size_t i);

inline bool isWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool isDigit(char c) { return c >= '0' && c <= '9'; }
inline bool isWordPart(char c) { return isWordStart(c) || isDigit(c) || c == '.' || c == '$'; }
bool isWord(std::string_view text);  // needs no quotes

// "text" with \" \\ and \hh for control characters.
void appendQuoted(std::string& out, std::string_view text);
void appendWordOrQuoted(std::string& out, std::string_view text);
void appendHex(std::string& out, std::span<const std::byte> bytes);
int hexDigit(char c);  // -1: none

}  // namespace tercel::ir
