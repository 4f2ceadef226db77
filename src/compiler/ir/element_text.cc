#include "compiler/ir/element_text.h"

#include <charconv>
#include <cmath>
#include <type_traits>

#include "compiler/ir/syntax.h"

namespace tercel::ir {
namespace {

template <class T>
constexpr bool is_float16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T>
auto bitsOf(T value) {
  if constexpr (is_float16<T>)
    return value.bits;
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(value);
  else
    return std::bit_cast<uint64_t>(value);
}

template <class T>
T fromBits(uint64_t bits) {
  if constexpr (is_float16<T>) {
    T value;
    value.bits = static_cast<uint16_t>(bits);
    return value;
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  } else {
    return std::bit_cast<T>(bits);
  }
}

template <class T>
bool isNan(T value) {
  if constexpr (is_float16<T>)
    return std::isnan(static_cast<float>(value));
  else
    return std::isnan(value);
}

// The fewest digits that read back as the same 16 bits; std::to_chars only knows float's.
template <class T>
void appendFloat16(std::string& out, T value) {
  float wide = static_cast<float>(value);
  char exact[32], rounded[32];
  char* exact_end = std::to_chars(exact, std::end(exact), wide).ptr;
  for (int digits = 1; digits <= 5; ++digits) {
    char* end =
        std::to_chars(rounded, std::end(rounded), wide, std::chars_format::general, digits).ptr;
    double back = 0;
    std::from_chars(rounded, end, back);
    if (T(back).bits != value.bits) continue;
    if (end - rounded < exact_end - exact)
      out.append(rounded, end);
    else
      out.append(exact, exact_end);
    return;
  }
  out.append(exact, exact_end);
}

template <class T>
void appendFloat(std::string& out, T value) {
  if (isNan(value)) {
    auto bits = bitsOf(value);
    out += "nan:0x";
    for (int shift = sizeof(bits) * 8 - 4; shift >= 0; shift -= 4)
      out += "0123456789abcdef"[(bits >> shift) & 15];
  } else if constexpr (is_float16<T>) {
    appendFloat16(out, value);
  } else {
    char text[32];
    out.append(text, std::to_chars(text, std::end(text), value).ptr);
  }
}

template <class T>
bool parseWhole(std::string_view text, T* value, int base = 10) {
  const char* end = text.data() + text.size();
  if constexpr (std::is_integral_v<T>) {
    auto result = std::from_chars(text.data(), end, *value, base);
    return result.ec == std::errc() && result.ptr == end;
  } else {
    auto result = std::from_chars(text.data(), end, *value);
    return result.ec == std::errc() && result.ptr == end;
  }
}

template <class T>
bool parseFloat(std::string_view text, T* value) {
  constexpr std::string_view kNan = "nan:0x";
  using Wide = std::conditional_t<is_float16<T>, double, T>;
  constexpr double kInf = HUGE_VAL;
  if (text.starts_with(kNan)) {
    uint64_t bits = 0;
    if (text.size() != kNan.size() + 2 * sizeof(T)) return false;
    if (!parseWhole(text.substr(kNan.size()), &bits, 16)) return false;
    *value = fromBits<T>(bits);
    return isNan(*value);
  }
  if (text == "inf" || text == "-inf") {
    *value = T(static_cast<Wide>(text[0] == '-' ? -kInf : kInf));
    return true;
  }
  size_t digit = text.starts_with('-') ? 1 : 0;
  if (digit >= text.size() || !isDigit(text[digit])) return false;
  Wide wide;
  if (!parseWhole(text, &wide)) return false;
  *value = T(wide);
  if constexpr (is_float16<T>) return !std::isinf(static_cast<float>(*value));
  return true;
}

}  // namespace

void appendElement(std::string& out, bool value) { out += value ? "true" : "false"; }

bool parseElement(std::string_view text, bool* value) {
  *value = text == "true";
  return *value || text == "false";
}

template <class T>
void appendElement(std::string& out, T value) {
  if constexpr (std::is_integral_v<T>) {
    char text[24];
    out.append(text, std::to_chars(text, std::end(text), value).ptr);
  } else {
    appendFloat(out, value);
  }
}

template <class T>
bool parseElement(std::string_view text, T* value) {
  if constexpr (std::is_integral_v<T>)
    return parseWhole(text, value);
  else
    return parseFloat(text, value);
}

#define INSTANTIATE(T)                          \
  template void appendElement(std::string&, T); \
  template bool parseElement(std::string_view, T*);
INSTANTIATE(int8_t)
INSTANTIATE(int16_t)
INSTANTIATE(int32_t)
INSTANTIATE(int64_t)
INSTANTIATE(uint8_t)
INSTANTIATE(uint16_t)
INSTANTIATE(uint32_t)
INSTANTIATE(uint64_t)
INSTANTIATE(Half)
INSTANTIATE(BFloat16)
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace tercel::ir
