#include "compiler/ir/syntax.h"

#include <algorithm>

namespace tercel::ir {
namespace {

constexpr char kHex[] = "0123456789abcdef";

}  // namespace

std::string_view regionKeyword(OpKind kind, size_t i) {
  switch (kind) {
    case OpKind::while_:
      return i == 0 ? "cond" : "body";
    case OpKind::if_:
      return i == 0 ? "true" : "false";
    case OpKind::case_:
    case OpKind::fork_:
      return "branch";
    default:
      return "body";
  }
}

bool isWord(std::string_view text) {
  return !text.empty() && isWordStart(text[0]) && std::ranges::all_of(text, isWordPart);
}

void appendQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += '\\';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void appendWordOrQuoted(std::string& out, std::string_view text) {
  if (isWord(text))
    out += text;
  else
    appendQuoted(out, text);
}

void appendHex(std::string& out, std::span<const std::byte> bytes) {
  for (std::byte b : bytes) {
    out += kHex[static_cast<int>(b) >> 4];
    out += kHex[static_cast<int>(b) & 15];
  }
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace tercel::ir
