#include "compiler/eval/numeric_ops.h"

#include <numbers>

#include "compiler/eval/complex_math.h"
#include "compiler/eval/numeric.h"
#include "compiler/eval/output.h"

namespace tercel::eval {
namespace {

template <class R>
using Points = std::vector<std::complex<R>>;

int64_t smallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

// Sums over e^(sign 2 pi i j k / n), by those over each residue of j modulo a factor of n.
template <class R>
Points<R> transformed(const Points<R>& x, int sign) {
  const auto n = static_cast<int64_t>(x.size()), p = smallestFactor(n), m = n / p;
  if (n <= 1) return x;
  std::vector<Points<R>> parts;
  for (int64_t r = 0; r < p; ++r) {
    Points<R> part;
    for (int64_t j = r; j < n; j += p) part.push_back(x[static_cast<size_t>(j)]);
    parts.push_back(p == n ? part : transformed(part, sign));
  }
  Points<R> roots, result(x.size());
  for (int64_t k = 0; k < n; ++k)
    roots.push_back(std::polar(R(1), sign * 2 * std::numbers::pi_v<R> * R(k) / R(n)));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t r = 0; r < p; ++r)
      result[static_cast<size_t>(k)] += multiplyComplex(
          parts[static_cast<size_t>(r)][static_cast<size_t>(k % m)],
          roots[static_cast<size_t>(r * k % n)]);
  return result;
}

// An array of points [outer, n, inner], of which each line of n is transformed.
template <class R>
void transformLines(Points<R>& points, int64_t outer, int64_t n, int64_t inner, int sign) {
  Points<R> line(static_cast<size_t>(n));
  for (int64_t i = 0; i < outer * inner; ++i) {
    auto at = [&](int64_t k) {
      return static_cast<size_t>((i / inner * n + k) * inner + i % inner);
    };
    for (int64_t k = 0; k < n; ++k) line[static_cast<size_t>(k)] = points[at(k)];
    Points<R> made = transformed(line, sign);
    const R scale = sign > 0 ? R(n) : R(1);
    for (int64_t k = 0; k < n; ++k) points[at(k)] = made[static_cast<size_t>(k)] / scale;
  }
}

template <class R, class T>
Points<R> pointsOf(const Input& in) {
  Points<R> points;
  for (int64_t i = 0; i < in.shape().elements(); ++i)
    points.push_back(widen<std::complex<R>>(std::complex<R>(in.data<T>()[i])));
  return points;
}

// Rows of n / 2 + 1 points as the n of a transform that is real.
template <class R>
Points<R> mirrored(const Points<R>& half, int64_t n) {
  const int64_t h = n / 2 + 1;
  Points<R> full;
  for (int64_t row = 0; row < static_cast<int64_t>(half.size()) / h; ++row)
    for (int64_t k = 0; k < n; ++k) {
      std::complex<R> point = half[static_cast<size_t>(row * h + std::min(k, n - k))];
      if (k == 0 || 2 * k == n) point = point.real();
      full.push_back(k < h ? point : std::conj(point));
    }
  return full;
}

// Keeps `kept` of every `n` points.
template <class R>
Points<R> firstOf(const Points<R>& points, int64_t n, int64_t kept) {
  Points<R> list;
  for (size_t i = 0; i < points.size(); ++i)
    if (static_cast<int64_t>(i) % n < kept) list.push_back(points[i]);
  return list;
}

}  // namespace

Result<Literals> evalFft(Evaluation& evaluation, const Op& op, Operands operands) {
  const std::string_view type = op.symbol(AttrKey::fft_type);
  const int sign = type == "FFT" || type == "RFFT" ? -1 : 1;
  const Ints& lengths = op.ints(AttrKey::fft_length);
  Input in(operands[0]);
  Output out(evaluation.resultShape(op));
  if (out.shape().elements() == 0) return Literals{out.take()};
  int64_t longest = 1;
  for (int64_t n : lengths) longest = std::max(longest, n);
  TERCEL_TRY(evaluation.charge(in.shape().elements() * longest));
  visitDType(realPart(out.shape().dtype), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      using R = long double;
      auto points = isComplex(in.shape().dtype) ? pointsOf<R, std::complex<T>>(in)
                                                : pointsOf<R, T>(in);
      const int64_t n = lengths.back(), width = in.shape().dims.back();
      int64_t inner = width, outer = static_cast<int64_t>(points.size()) / width;
      for (size_t d = lengths.size() - 1; type == "IRFFT" && d-- > 0; inner *= lengths[d])
        transformLines(points, outer /= lengths[d], lengths[d], inner, sign);
      if (type == "IRFFT") points = mirrored(points, n);
      const auto rows = static_cast<int64_t>(points.size()) / n;
      transformLines(points, rows, n, 1, sign);
      inner = n, outer = rows;
      for (size_t d = lengths.size() - 1; type != "IRFFT" && d-- > 0; inner *= lengths[d])
        transformLines(points, outer /= lengths[d], lengths[d], inner, sign);
      if (type == "RFFT") points = firstOf(points, n, n / 2 + 1);
      for (size_t i = 0; i < points.size(); ++i)
        if (type == "IRFFT")
          out.data<T>()[i] = static_cast<T>(points[i].real());
        else
          out.data<std::complex<T>>()[i] = narrow<std::complex<T>>(points[i]);
    }
  });
  return Literals{out.take()};
}

}  // namespace tercel::eval
