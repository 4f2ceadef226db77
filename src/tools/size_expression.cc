#include "tools/size_expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

namespace tercel::tools {
namespace {

constexpr int kMaxDepth = 50;

struct Function {
  std::string_view name;
  bool (*apply)(int64_t a, int64_t b, int64_t* result);  // false: there is no result
};

bool floorDivide(int64_t a, int64_t b, int64_t* result) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  *result = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

bool modulo(int64_t a, int64_t b, int64_t* result) {
  int64_t quotient;
  if (!floorDivide(a, b, &quotient)) return false;
  *result = a - quotient * b;
  return true;
}

constexpr Function kFunctions[] = {
    {"floordiv", floorDivide},
    {"max", [](int64_t a, int64_t b, int64_t* r) { return *r = std::max(a, b), true; }},
    {"min", [](int64_t a, int64_t b, int64_t* r) { return *r = std::min(a, b), true; }},
    {"mod", modulo},
};

// Sums of products of powers; a false value of `ok_` ends it.
class Parser {
 public:
  Parser(std::string_view text, const Sizes& sizes) : text_(text), sizes_(sizes) {}

  Result<int64_t> parse() {
    const int64_t value = sum();
    if (!unknown_.empty()) {
      return invalidArgument(unknown_, " has no size: --size=", unknown_,
                             "=8 gives it one, --size=", unknown_, "=1,8,64 several");
    }
    if (!ok_ || !rest().empty()) return invalidArgument(text_, " is no size that can be computed");
    if (value < 0) return invalidArgument(text_, " is ", value);
    return value;
  }

 private:
  std::string_view rest() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return text_.substr(at_);
  }
  bool take(char c) {
    const bool found = rest().starts_with(c);
    at_ += found;
    return found;
  }

  int64_t sum() {
    int64_t total = rest().starts_with('-') ? 0 : product();
    while (ok_) {
      if (take('+')) {
        ok_ &= !__builtin_add_overflow(total, product(), &total);
      } else if (take('-')) {
        ok_ &= !__builtin_sub_overflow(total, product(), &total);
      } else {
        break;
      }
    }
    return total;
  }

  int64_t product() {
    int64_t value = power();
    while (ok_ && take('*')) ok_ &= !__builtin_mul_overflow(value, power(), &value);
    return value;
  }

  int64_t power() {
    const int64_t base = atom();
    if (!take('^')) return base;
    int64_t value = 1, exponent = atom();
    if (base == 0 || base == 1) exponent = std::min<int64_t>(exponent, 1);
    for (; ok_ && exponent > 0; --exponent) ok_ &= !__builtin_mul_overflow(value, base, &value);
    return value;
  }

  int64_t atom() {
    ok_ &= ++depth_ <= kMaxDepth;
    if (!ok_) return 0;
    const std::string_view word = takeWord();
    int64_t value = 0;
    if (word.empty()) {
      ok_ &= take('(');
      if (ok_) value = sum();
      ok_ = ok_ && take(')');
    } else if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      ok_ &= error == std::errc() && end == word.data() + word.size();
    } else {
      value = rest().starts_with('(') ? call(word) : sizeOf(word);
    }
    --depth_;
    return value;
  }

  std::string_view takeWord() {
    std::string_view word = rest();
    const auto end = std::ranges::find_if_not(
        word, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    word = word.substr(0, static_cast<size_t>(end - word.begin()));
    at_ += word.size();
    return word;
  }

  int64_t call(std::string_view name) {
    const Function* function = std::ranges::find(kFunctions, name, &Function::name);
    ok_ = ok_ && function != std::end(kFunctions) && take('(');
    const int64_t a = ok_ ? sum() : 0;
    ok_ = ok_ && take(',');
    const int64_t b = ok_ ? sum() : 0;
    int64_t value = 0;
    ok_ = ok_ && take(')') && function->apply(a, b, &value);
    return value;
  }

  int64_t sizeOf(std::string_view name) {
    const auto known = sizes_.find(name);
    if (known != sizes_.end()) return known->second;
    if (unknown_.empty()) unknown_ = name;
    ok_ = false;
    return 0;
  }

  std::string_view text_;
  const Sizes& sizes_;
  size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
  std::string unknown_;
};

}  // namespace

bool names(std::string_view expression, std::string_view name) {
  auto isWord = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  for (size_t at = 0; (at = expression.find(name, at)) != expression.npos; at += name.size()) {
    const size_t end = at + name.size();
    if ((at == 0 || !isWord(expression[at - 1])) &&
        (end == expression.size() || !isWord(expression[end])))
      return true;
  }
  return false;
}

Result<int64_t> evaluateSize(std::string_view expression, const Sizes& sizes) {
  return Parser(expression, sizes).parse();
}

}  // namespace tercel::tools
