#include "compiler/ir/scanner.h"

#include <algorithm>
#include <charconv>

#include "compiler/ir/syntax.h"

namespace tercel::ir {
namespace {

bool isElementPart(char c) { return isWordPart(c) || c == '-' || c == '+' || c == ':'; }
bool isNumberPart(char c) { return isDigit(c) || c == '-'; }
bool isNamePart(char c) { return isWordPart(c) || c == '-'; }

}  // namespace

void Scanner::skipSpace() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_).starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      break;
    }
  }
}

bool Scanner::atEnd() { return peek() == 0 && at_ == text_.size(); }

char Scanner::peek() {
  skipSpace();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Scanner::accept(std::string_view punctuation) {
  skipSpace();
  if (!text_.substr(at_).starts_with(punctuation)) return false;
  last_ = at_;
  at_ += punctuation.size();
  return true;
}

bool Scanner::acceptWord(std::string_view word) {
  skipSpace();
  std::string_view rest = text_.substr(at_);
  if (!rest.starts_with(word) || (rest.size() > word.size() && isWordPart(rest[word.size()])))
    return false;
  last_ = at_;
  at_ += word.size();
  return true;
}

Status Scanner::expect(std::string_view punctuation) {
  if (accept(punctuation)) return {};
  return errorHere("expected '", punctuation, "'");
}

Status Scanner::expectWord(std::string_view word) {
  if (acceptWord(word)) return {};
  return errorHere("expected '", word, "'");
}

std::string_view Scanner::takeWhile(bool (*belongs)(char)) {
  skipSpace();
  last_ = at_;
  while (at_ < text_.size() && belongs(text_[at_])) ++at_;
  return text_.substr(last_, at_ - last_);
}

Result<std::string_view> Scanner::word() {
  if (!isWordStart(peek())) return errorHere("expected a word");
  return takeWhile(isWordPart);
}

Result<std::string> Scanner::quoted() {
  if (!accept("\"")) return errorHere("expected a quoted text");
  std::string value;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c != '\\') {
      value += c;
      continue;
    }
    std::string_view rest = text_.substr(at_);
    if (rest.starts_with('"') || rest.starts_with('\\')) {
      value += text_[at_++];
    } else if (rest.size() >= 2 && hexDigit(rest[0]) >= 0 && hexDigit(rest[1]) >= 0) {
      value += static_cast<char>(hexDigit(rest[0]) * 16 + hexDigit(rest[1]));
      at_ += 2;
    } else {
      return errorAt(at_ - 1, "unknown escape in a quoted text");
    }
  }
  if (at_ == text_.size()) return errorAtLast("a quoted text does not end");
  ++at_;
  return value;
}

Result<std::string> Scanner::wordOrQuoted() {
  if (peek() == '"') return quoted();
  TERCEL_ASSIGN(std::string_view plain, word());
  return std::string(plain);
}

Result<int64_t> Scanner::integer() {
  std::string_view digits = takeWhile(isNumberPart);
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    return errorAtLast("expected a 64-bit integer");
  return value;
}

Result<std::string_view> Scanner::valueName() {
  if (!accept("%")) return errorHere("expected a value");
  size_t start = at_;
  while (at_ < text_.size() && isNamePart(text_[at_])) ++at_;
  if (at_ == start) return errorAtLast("expected a name after '%'");
  return text_.substr(start, at_ - start);
}

std::string_view Scanner::element() { return takeWhile(isElementPart); }

Status Scanner::errorAt(size_t at, std::string_view message) const {
  std::string_view before = text_.substr(0, at);
  size_t line = 1 + static_cast<size_t>(std::ranges::count(before, '\n'));
  size_t newline = before.rfind('\n');
  size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
  return invalidArgument(line, ":", column, ": ", message);
}

}  // namespace tercel::ir
