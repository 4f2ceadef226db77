#include "compiler/eval/difference.h"

#include <cmath>
#include <complex>

#include "compiler/eval/evaluator.h"
#include "compiler/ir/builder.h"
#include "core/status.h"

namespace tercel::eval {
namespace {

// Many roundings of the type, in units of the value.
double tolerance(DType dtype) {
  switch (realPart(dtype)) {
    case DType::f64: return 1e-10;
    case DType::f32: return 1e-4;
    case DType::f16: return 5e-3;
    case DType::bf16: return 3e-2;
    default: return isFloat(dtype) ? 0.26 : 0;
  }
}

template <class T>
std::complex<double> numberAt(const ir::Literal& literal, int64_t i) {
  T value = literal.at<T>(i);
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return {value.real(), value.imag()};
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

// NaN agrees with NaN, an infinity with itself.
bool partAgrees(double got, double wanted, double allowed) {
  if (got == wanted || (std::isnan(got) && std::isnan(wanted))) return true;
  return std::abs(got - wanted) <= allowed && std::isfinite(wanted);
}

double finiteSize(std::complex<double> number) {
  double size = 0;
  for (double part : {number.real(), number.imag()})
    if (std::isfinite(part)) size = std::max(size, std::abs(part));
  return size;
}

template <class T>
std::string differenceOf(const ir::Literal& got, const ir::Literal& wanted, double relative) {
  int64_t count = wanted.shape().elements();
  double largest = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, finiteSize(numberAt<T>(wanted, i)));
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < count; ++i) {
    std::complex<double> a = numberAt<T>(got, i), b = numberAt<T>(wanted, i);
    if (partAgrees(a.real(), b.real(), relative * largest) &&
        partAgrees(a.imag(), b.imag(), relative * largest))
      continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  std::complex<double> a = numberAt<T>(got, first), b = numberAt<T>(wanted, first);
  return cat(wrong, " of ", count, " elements differ; the first is ", first, ": ", a.real(), " + ",
             a.imag(), "i, wanted ", b.real(), " + ", b.imag(), "i");
}

template <class T>
std::string exactDifference(const ir::Literal& got, const ir::Literal& wanted) {
  int64_t count = wanted.shape().elements();
  for (int64_t i = 0; i < count; ++i)
    if (got.at<T>(i) != wanted.at<T>(i))
      return cat("element ", i, " is ", +got.at<T>(i), ", wanted ", +wanted.at<T>(i));
  return "";
}

}  // namespace

ir::Literal widened(const ir::Literal& small_floats) {
  const Shape& shape = small_floats.shape();
  ir::Module module;
  const ir::RegionId body = module.addRegion();
  const ir::Value arg = module.addArg(body, {shape});
  module.region(body).results = {ir::Builder(module, body).convert(arg, DType::f32)};
  module.functions.push_back({.name = "main", .body = body});
  auto results = evaluate(module, module.main(), {&small_floats, 1});
  TERCEL_CHECK(results.ok(), results.status().message());
  return (*results)[0];
}

std::string difference(const ir::Literal& got, const ir::Literal& wanted) {
  DType dtype = wanted.shape().dtype;
  if (got.shape() != wanted.shape())
    return cat("the shape is ", toString(got.shape()), ", wanted ", toString(wanted.shape()));
  if (isSmall(dtype) && isFloat(dtype))
    return differenceOf<float>(widened(got), widened(wanted), tolerance(dtype));
  return visitDType(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      return exactDifference<T>(got, wanted);
    else
      return differenceOf<T>(got, wanted, tolerance(dtype));
  });
}

}  // namespace tercel::eval
