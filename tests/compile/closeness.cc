#include "compile/closeness.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstdio>
#include <limits>

#include "compiler/eval/difference.h"
#include "core/status.h"

namespace tercel::compiler {
namespace {

// Floats as integers in the order of their values, adjacent floats adjacent.
template <class Bits>
double ordinal(Bits bits) {
  constexpr Bits kSign = Bits(Bits{1} << (sizeof(Bits) * 8 - 1));
  Bits size = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
  return bits & kSign ? -static_cast<double>(size) : static_cast<double>(size);
}

// f64's ordinals are beyond double's integers: the difference is taken first where signs agree.
double ulpsBetween(double a, double b) {
  auto x = std::bit_cast<int64_t>(a), y = std::bit_cast<int64_t>(b);
  if ((x < 0) == (y < 0)) return std::abs(static_cast<double>(x - y));
  return std::abs(ordinal(std::bit_cast<uint64_t>(a)) - ordinal(std::bit_cast<uint64_t>(b)));
}
double ulpsBetween(float a, float b) {
  return std::abs(ordinal(std::bit_cast<uint32_t>(a)) - ordinal(std::bit_cast<uint32_t>(b)));
}
double ulpsBetween(Half a, Half b) { return std::abs(ordinal(a.bits) - ordinal(b.bits)); }
double ulpsBetween(BFloat16 a, BFloat16 b) { return std::abs(ordinal(a.bits) - ordinal(b.bits)); }

template <class T>
double wide(T value) {
  if constexpr (std::is_same_v<T, double>) return value;
  else return static_cast<float>(value);
}

template <class T>
bool floatsAgree(T got, T wanted, double ulps) {
  if (std::isnan(wide(wanted))) return std::isnan(wide(got));
  if (std::isnan(wide(got))) return false;
  if (std::signbit(wide(got)) != std::signbit(wide(wanted)) && ulps == 0) return false;
  return ulpsBetween(got, wanted) <= ulps;
}

template <class R>
bool complexAgree(std::complex<R> got, std::complex<R> wanted, double ulps) {
  R size = std::max(std::abs(wanted.real()), std::abs(wanted.imag()));
  double allowed = ulps * std::max<double>(size * std::numeric_limits<R>::epsilon(),
                                           std::numeric_limits<R>::denorm_min());
  auto near = [&](R a, R b) {
    if (floatsAgree(a, b, ulps)) return true;
    return std::isfinite(size) && std::abs(double(a) - double(b)) <= allowed;
  };
  return near(got.real(), wanted.real()) && near(got.imag(), wanted.imag());
}

template <class T>
bool agree(const T& got, const T& wanted, double ulps) {
  if constexpr (std::is_integral_v<T>) return got == wanted;
  else if constexpr (requires { got.real(); }) return complexAgree(got, wanted, ulps);
  else return floatsAgree(got, wanted, ulps);
}

template <class T>
std::string shown(const T& value) {
  if constexpr (std::is_integral_v<T>) return std::to_string(+value);
  char text[80];
  if constexpr (requires { value.real(); }) {
    std::snprintf(text, sizeof text, "(%.17g, %.17g)", double(value.real()), double(value.imag()));
  } else if constexpr (!std::is_integral_v<T>) {
    std::snprintf(text, sizeof text, "%.17g", wide(value));
  }
  return text;
}

// Codes of small floats: as many steps apart as the ulps allow, one at most.
std::string smallDifference(const ir::Literal& got, const ir::Literal& wanted, double ulps) {
  const ir::Literal a = eval::widened(got), b = eval::widened(wanted);
  const int sign_at = bitWidth(wanted.shape().dtype) - 1;
  auto code = [&](const ir::Literal& codes, int64_t i) {
    const int bits = codes.at<uint8_t>(i), size = bits & ((1 << sign_at) - 1);
    return wanted.shape().dtype == DType::f8e8m0fnu ? bits : bits >> sign_at ? -size : size;
  };
  for (int64_t i = 0; i < wanted.shape().elements(); ++i) {
    if (std::isnan(a.at<float>(i)) && std::isnan(b.at<float>(i))) continue;
    const bool same = got.at<uint8_t>(i) == wanted.at<uint8_t>(i);
    if (same || (ulps > 0 && std::abs(code(got, i) - code(wanted, i)) <= 1)) continue;
    return cat("element ", i, " is ", shown(a.at<float>(i)), ", wanted ", shown(b.at<float>(i)));
  }
  return "";
}

}  // namespace

std::string Closeness::difference(const ir::Literal& got, const ir::Literal& wanted) const {
  if (of_largest) return eval::difference(got, wanted);
  if (got.shape() != wanted.shape()) return "another shape than " + toString(wanted.shape());
  const DType dtype = wanted.shape().dtype;
  if (isSmall(dtype) && isFloat(dtype)) return smallDifference(got, wanted, ulps);
  return visitDType(dtype, [&]<class T>() -> std::string {
    int64_t wrong = 0, first = 0;
    for (int64_t i = wanted.shape().elements() - 1; i >= 0; --i)
      if (!agree(got.at<T>(i), wanted.at<T>(i), ulps)) ++wrong, first = i;
    if (wrong == 0) return "";
    return cat(wrong, " elements differ, first ", first, ": ", shown(got.at<T>(first)),
               ", wanted ", shown(wanted.at<T>(first)));
  });
}

}  // namespace tercel::compiler
