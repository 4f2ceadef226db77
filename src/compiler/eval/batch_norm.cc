#include <cmath>
#include <vector>

#include "compiler/eval/numeric.h"
#include "compiler/eval/numeric_ops.h"
#include "compiler/eval/output.h"

namespace tercel::eval {
namespace {

// One feature's numbers: x, and for the gradient what the result's are worth.
template <class W>
struct Feature {
  std::vector<W> x, given;
  W scale{}, offset{}, mean{}, variance{};
};

template <class W>
W meanOf(const std::vector<W>& x) {
  W sum = 0;
  for (W v : x) sum += v;
  return sum / static_cast<W>(x.size());
}

template <class W>
void measure(Feature<W>& f) {
  f.mean = meanOf(f.x);
  std::vector<W> squares;
  for (W v : f.x) squares.push_back((v - f.mean) * (v - f.mean));
  f.variance = meanOf(squares);
}

template <class W>
void normalise(Feature<W>& f, W epsilon) {
  for (W& v : f.x) v = (v - f.mean) / std::sqrt(f.variance + epsilon) * f.scale + f.offset;
}

// x becomes the gradient of the operand, scale and offset theirs.
template <class W>
void differentiate(Feature<W>& f, W epsilon) {
  const W inverse = 1 / std::sqrt(f.variance + epsilon), n = static_cast<W>(f.x.size());
  W total = 0, along = 0;
  for (size_t i = 0; i < f.x.size(); ++i) {
    total += f.given[i];
    along += f.given[i] * (f.x[i] - f.mean);
  }
  for (size_t i = 0; i < f.x.size(); ++i)
    f.x[i] = f.scale * inverse / n *
             (n * f.given[i] - total - (f.x[i] - f.mean) * along * inverse * inverse);
  f.scale = along * inverse;
  f.offset = total;
}

}  // namespace

Result<Literals> evalBatchNorm(Evaluation& evaluation, const Op& op, Operands operands) {
  std::vector<Input> in(operands.begin(), operands.end());
  std::vector<Output> out;
  for (size_t i = 0; i < op.results.size(); ++i) out.emplace_back(evaluation.resultShape(op, i));
  const Dims& dims = in[0].shape().dims;
  const auto axis = static_cast<size_t>(op.integer(AttrKey::feature_index));
  int64_t inner = 1;
  for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
  const int64_t features = dims[axis], elements = in[0].shape().elements();
  const bool is_grad = op.kind == OpKind::batch_norm_grad_;
  const bool is_training = op.kind == OpKind::batch_norm_training_;
  const double epsilon = std::get<double>(*op.find(AttrKey::epsilon));
  TERCEL_TRY(evaluation.charge(4 * elements));
  visitDType(in[0].shape().dtype, [&]<class T>() {
    if constexpr (kIsFloat<T>) {
      using W = Wide<T>;
      for (int64_t c = 0; c < features; ++c) {
        Feature<W> f;
        auto each = [&](size_t i) { return widen<W>(in[i].template data<T>()[c]); };
        auto forEachElement = [&](auto&& use) {
          for (int64_t i = 0; i < elements; ++i)
            if (i / inner % features == c) use(i);
        };
        forEachElement([&](int64_t i) {
          f.x.push_back(widen<W>(in[0].data<T>()[i]));
          if (is_grad) f.given.push_back(widen<W>(in[4].data<T>()[i]));
        });
        f.scale = each(1);
        if (!is_grad) f.offset = each(2);
        if (!is_training) f.mean = each(is_grad ? 2 : 3), f.variance = each(is_grad ? 3 : 4);
        if (is_training) measure(f);
        is_grad ? differentiate(f, W(epsilon)) : normalise(f, W(epsilon));
        size_t next = 0;
        forEachElement([&](int64_t i) { out[0].data<T>()[i] = narrow<T>(f.x[next++]); });
        if (out.size() < 3) continue;
        out[1].data<T>()[c] = narrow<T>(is_grad ? f.scale : f.mean);
        out[2].data<T>()[c] = narrow<T>(is_grad ? f.offset : f.variance);
      }
    }
  });
  Literals results;
  for (Output& o : out) results.push_back(o.take());
  return results;
}

}  // namespace tercel::eval
