#include "runtime/engine/debug_print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "core/dtype.h"
#include "core/status.h"

namespace tercel::engine {
namespace {

constexpr int64_t kShownWhole = 1000, kEnds = 3;
constexpr size_t kLongestSpec = 16;

Status malformed() { return invalidArgument("malformed configuration of ", kDebugPrint); }

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The string after `format = `, without its quotes and escapes: \" \\ \x0a
Result<std::string> formatOf(std::string_view configuration) {
  constexpr std::string_view kKey = "format = \"";
  const size_t at = configuration.find(kKey);
  if (at == configuration.npos) return malformed();
  std::string text;
  for (size_t i = at + kKey.size(); i < configuration.size(); ++i) {
    const char c = configuration[i];
    if (c == '"') return text;
    if (c != '\\') {
      text += c;
    } else if (i + 3 < configuration.size() && configuration[i + 1] == 'x') {
      const int high = hexDigit(configuration[i + 2]), low = hexDigit(configuration[i + 3]);
      if (high < 0 || low < 0) return malformed();
      text += static_cast<char>(high * 16 + low);
      i += 3;
    } else if (++i < configuration.size()) {
      text += configuration[i];
    }
  }
  return malformed();
}

// .3f, 8.2e, +5d: flags, width and precision as C has them, and one letter.
bool isSpecOf(std::string_view spec, std::string_view letters) {
  return !spec.empty() && spec.size() <= kLongestSpec &&
         letters.find(spec.back()) != letters.npos &&
         spec.substr(0, spec.size() - 1).find_first_not_of("+- 0123456789.") == spec.npos;
}

// A width or a precision of more digits may be more than snprintf counts.
bool isTooWide(std::string_view spec) {
  return std::ranges::count_if(spec, [](char c) { return c >= '0' && c <= '9'; }) > 9;
}

template <class T>
std::string printed(const std::string& format, T value) {
  char buffer[512];
  const int size = std::snprintf(buffer, sizeof(buffer), format.c_str(), value);
  return {buffer, static_cast<size_t>(std::min<int>(size, sizeof(buffer) - 1))};
}

// The fewest digits that are this value, as Python writes them; `point` is what follows an integer.
// to_chars would bring tables into libraries.
std::string shortest(double value, bool is_float, const char* point) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char buffer[40];
  int digits = 0;
  for (bool is_same = false; !is_same && digits < 18; ++digits) {
    std::snprintf(buffer, sizeof(buffer), "%.*e", digits, value);
    is_same = is_float ? std::strtof(buffer, nullptr) == static_cast<float>(value)
                       : std::strtod(buffer, nullptr) == value;
  }
  const int exponent = std::atoi(std::strchr(buffer, 'e') + 1);
  if (exponent < -4 || exponent >= 16) return buffer;
  const int decimals = std::max(digits - 1 - exponent, 0);
  std::snprintf(buffer, sizeof(buffer), "%.*f%s", decimals, value, decimals ? "" : point);
  return buffer;
}

std::string realText(double value, bool is_float, const char* point, std::string_view spec) {
  if (isSpecOf(spec, "fFeEgG")) return printed(cat("%", spec), value);
  return shortest(value, is_float, point);
}

std::string integerText(int64_t value, std::string_view spec) {
  if (!isSpecOf(spec, "d")) return std::to_string(value);
  return printed(cat("%", spec.substr(0, spec.size() - 1), "ld"), long{value});
}

template <class T>
std::string elementText(T value, const char* point, std::string_view spec) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return std::to_string(value);
  } else if constexpr (std::is_integral_v<T>) {
    return integerText(value, spec);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    constexpr bool kIsFloat = std::is_same_v<T, std::complex<float>>;
    return cat(realText(value.real(), kIsFloat, "", spec), std::signbit(value.imag()) ? "" : "+",
               realText(value.imag(), kIsFloat, "", spec), "j");
  } else if constexpr (std::is_same_v<T, double>) {
    return realText(value, false, point, spec);
  } else {
    return realText(double{static_cast<float>(value)}, true, point, spec);
  }
}

class ArrayText {
 public:
  ArrayText(const Shape& shape, const void* data, std::string_view spec)
      : shape_(shape), data_(static_cast<const std::byte*>(data)), spec_(spec) {
    is_whole_ = shape.elements() <= kShownWhole;
  }

  std::string write() {
    writeFrom(0, 0);
    return std::move(text_);
  }

 private:
  // The part of the array below one index of the dimensions before `d`.
  void writeFrom(size_t d, int64_t first) {
    if (d == shape_.dims.size()) return writeElement(first);
    const int64_t size = shape_.dims[d];
    text_ += '[';
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) separate(d);
      if (!is_whole_ && size > 2 * kEnds && i == kEnds) {
        text_ += "...";
        i = size - kEnds;
        separate(d);
      }
      writeFrom(d + 1, first * size + i);
    }
    text_ += ']';
  }

  void separate(size_t d) {
    if (d + 1 == shape_.dims.size()) {
      text_ += ' ';
    } else {
      text_ += '\n';
      text_.append(d + 1, ' ');
    }
  }

  void writeElement(int64_t index) {
    if (isSmall(shape_.dtype) && isFloat(shape_.dtype)) {
      text_ += "0x" + printed("%02x", static_cast<unsigned>(data_[index]));
      return;
    }
    visitDType(shape_.dtype, [&]<class T>() {
      T value;
      std::memcpy(&value, data_ + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
      text_ += elementText(value, shape_.dims.empty() ? ".0" : ".", spec_);
    });
  }

  const Shape& shape_;
  const std::byte* data_;
  std::string_view spec_;
  bool is_whole_ = true;
  std::string text_;
};

// {0}, {1:.3f}: the operand's text.
Result<std::string> placeText(const CustomCall& call, std::string_view place) {
  size_t operand = 0;
  const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), operand);
  std::string_view spec(end, static_cast<size_t>(place.data() + place.size() - end));
  if (error != std::errc() || operand >= call.operands.size()) return malformed();
  if (!spec.empty() && spec[0] == ':') spec.remove_prefix(1);
  if (isTooWide(spec)) return malformed();
  return ArrayText(call.signature->operands[operand].shape, call.operands[operand], spec).write();
}

}  // namespace

Result<std::string> debugText(const CustomCall& call) {
  TERCEL_ASSIGN(const std::string format, formatOf(call.configuration));
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    const bool is_double = i + 1 < format.size() && format[i + 1] == c;
    if (c != '{' || is_double) {
      text += c;
      i += (c == '{' || c == '}') && is_double;
      continue;
    }
    const size_t close = format.find('}', i);
    if (close == format.npos) return malformed();
    TERCEL_ASSIGN(const std::string place,
                  placeText(call, std::string_view(format).substr(i + 1, close - i - 1)));
    text += place;
    i = close;
  }
  return text;
}

Status debugPrint(const CustomCall& call) {
  TERCEL_ASSIGN(std::string text, debugText(call));
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
  return Status();
}

}  // namespace tercel::engine
