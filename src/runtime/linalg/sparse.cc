// Products of a sparse matrix: jaxlib's cpu_csr_sparse_dense_ffi.
#include "runtime/linalg/arguments.h"

namespace tercel::linalg {
namespace {

// Row i has the entries from starts[i] on, each a value and its column. A program may come from a
// file: what is no place in the arrays is left out.
template <class T, class I>
struct SparseRows {
  const T* values;
  const I* starts;
  const I* columns;
  Index entries, cols;

  // f(value, column) for each entry of a row.
  template <class F>
  void forEachOf(Index row, F&& f) const {
    const Index first = std::max<Index>(starts[row], 0);
    const Index end = std::min<Index>(starts[row + 1], entries);
    for (Index e = first; e < end; ++e)
      if (columns[e] >= 0 && columns[e] < cols) f(values[e], Index{columns[e]});
  }
};

// A row of sparse x, which is row-major, as x is: as many columns at a time as registers hold sums.
template <class T, class I>
class RowProduct {
 public:
  RowProduct(const SparseRows<T, I>& sparse, Index row, const T* x, Index k, T* out)
      : sparse_(sparse), row_(row), x_(x), k_(k), out_(out + row * k) {
    constexpr int kMost = 64 / sizeof(T);
    take<kMost>();
    take<kMost / 4>();
    take<1>();
  }

 private:
  template <int N>
  void take() {
    using Sums = Eigen::Array<T, N, 1>;
    for (; done_ + N <= k_; done_ += N) {
      Sums sums = Sums::Zero();
      sparse_.forEachOf(row_, [&](T value, Index column) {
        sums += value * Eigen::Map<const Sums>(x_ + column * k_ + done_);
      });
      Eigen::Map<Sums>(out_ + done_) = sums;
    }
  }

  const SparseRows<T, I>& sparse_;
  const Index row_;
  const T* const x_;
  const Index k_;
  T* const out_;
  Index done_ = 0;
};

// Of values, starts of rows, columns, and the other matrix or a vector.
bool isProduct(const program::CallSignature& signature) {
  const auto &in = signature.operands, &out = signature.results;
  const auto isToken = [](const program::CallValue& value) { return value.is_token; };
  if (in.size() != 4 || out.size() != 1 || isToken(out[0]) || std::ranges::any_of(in, isToken))
    return false;
  const Shape &values = in[0].shape, &starts = in[1].shape, &x = in[3].shape;
  if (values.rank() != 1 || starts.rank() != 1 || starts.dims[0] == 0) return false;
  if (x.rank() != 1 && x.rank() != 2) return false;
  Dims product = x.dims;
  product[0] = starts.dims[0] - 1;
  return in[2].shape == Shape{starts.dtype, values.dims} && x.dtype == values.dtype &&
         out[0].shape == Shape{x.dtype, product};
}

Status refuse(const Call& call) {
  return invalidArgument("a program calls it with other operands: ", toString(*call.signature));
}

template <class T, class I>
Status multiplyIn(const Call& call) {
  const auto& in = call.signature->operands;
  const Dims& dims = in[3].shape.dims;
  const SparseRows<T, I> sparse{
      static_cast<const T*>(call.operands[0]), static_cast<const I*>(call.operands[1]),
      static_cast<const I*>(call.operands[2]), in[0].shape.dims[0], dims[0]};
  const Index rows = in[1].shape.dims[0] - 1, k = dims.size() == 2 ? dims[1] : 1;
  const double cost = 2.0 * double(k) * (1 + double(sparse.entries) / double(rows + 1));
  const T* x = static_cast<const T*>(call.operands[3]);
  T* out = static_cast<T*>(call.results[0]);
  return forEachIn(call, rows, cost, [&](Index row) { RowProduct<T, I>(sparse, row, x, k, out); });
}

template <class T>
Status multiply(const Call& call) {
  switch (call.signature->operands[1].shape.dtype) {
    case DType::s32: return multiplyIn<T, int32_t>(call);
    case DType::s64: return multiplyIn<T, int64_t>(call);
    default: return refuse(call);
  }
}

}  // namespace

Status multiplySparse(const Call& call) {
  if (!isProduct(*call.signature)) return refuse(call);
  switch (call.signature->operands[0].shape.dtype) {
    case DType::s32: return multiply<uint32_t>(call);  // which wraps
    case DType::s64: return multiply<uint64_t>(call);
    case DType::f32: return multiply<float>(call);
    case DType::f64: return multiply<double>(call);
    case DType::c64: return multiply<std::complex<float>>(call);
    case DType::c128: return multiply<std::complex<double>>(call);
    default: return refuse(call);
  }
}

}  // namespace tercel::linalg
