#include "same_literal.h"

#include <cmath>

namespace tercel::passes {
namespace {

using ir::Literal;

bool sameNumber(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return tolerance > 0 || std::signbit(a) == std::signbit(b);
  return std::abs(a - b) <= tolerance * (std::abs(a) + std::abs(b));
}

bool sameElement(const Literal& a, const Literal& b, int64_t i, double tolerance) {
  return visitDType(a.shape().dtype, [&]<class T>() {
    T x = a.at<T>(i), y = b.at<T>(i);
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
      return sameNumber(x.real(), y.real(), tolerance) && sameNumber(x.imag(), y.imag(), tolerance);
    else if constexpr (std::is_integral_v<T>)
      return x == y;
    else
      return sameNumber(a.number(i), b.number(i), tolerance);
  });
}

}  // namespace

bool sameLiteral(const Literal& a, const Literal& b, double tolerance) {
  if (!(a.shape() == b.shape())) return false;
  for (int64_t i = 0; i < a.shape().elements(); ++i)
    if (!sameElement(a, b, i, tolerance)) return false;
  return true;
}

}  // namespace tercel::passes
