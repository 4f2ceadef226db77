// A call's operands, results and attributes, checked: a program may come from a file.
#pragma once
#include <initializer_list>

#include "runtime/linalg/eigen.h"
#include "runtime/linalg/functions.h"

namespace tercel::linalg {

// A matrix, or a vector or number, for each element of the batch.
template <class T>
struct Batch {
  using Value = std::remove_const_t<T>;
  template <class Object>
  using MapOf = Eigen::Map<std::conditional_t<std::is_const_v<T>, const Object, Object>>;
  using Map = MapOf<MatrixX<Value>>;
  using VectorMap = MapOf<VectorX<Value>>;

  T* data = nullptr;
  Index rows = 1, cols = 1;

  Map operator[](Index b) const { return {data + b * rows * cols, rows, cols}; }
  VectorMap vector(Index b) const { return {data + b * rows * cols, rows * cols}; }
  T& number(Index b) const { return data[b * rows * cols]; }
};

// What is wrong is kept until status() is asked for; nothing may be touched before.
class Arguments {
 public:
  using Sizes = std::initializer_list<Index>;

  // Operand `main` is a batch of matrices: it has the leading dimensions of all others.
  Arguments(const Call& call, size_t operands, size_t results, size_t main = 0);

  Index batch() const { return batch_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }

  // Of one, two or no dimensions besides the batch.
  template <class T>
  Batch<const T> operand(size_t i, Sizes sizes) {
    check(true, i, kDType<T>, sizes);
    return batchOf<const T>(call_.operands, i, sizes);
  }
  template <class T>
  Batch<T> result(size_t i, Sizes sizes) {
    check(false, i, kDType<T>, sizes);
    return batchOf<T>(call_.results, i, sizes);
  }
  // The sizes of a value besides the batch: 0 where it has no such dimension.
  Index operandSize(size_t i, size_t dim) const;
  Index resultSize(size_t i, size_t dim) const;

  // A letter of `allowed`, kept as its code.
  char letter(std::string_view name, std::string_view allowed);
  int64_t number(std::string_view name);
  template <class... Words>
  void require(bool condition, const Words&... what) {
    if (!condition && status_.ok()) refuse(cat(what...));
  }

  const Status& status() const { return status_; }
  // After status(): an operand's content as a result's first.
  void copy(size_t operand, size_t result) const;

 private:
  template <class T>
  static constexpr DType kDType = std::is_same_v<T, int32_t>               ? DType::s32
                                  : std::is_same_v<T, float>               ? DType::f32
                                  : std::is_same_v<T, double>              ? DType::f64
                                  : std::is_same_v<T, std::complex<float>> ? DType::c64
                                                                           : DType::c128;
  template <class T>
  Batch<T> batchOf(std::span<void* const> pointers, size_t i, Sizes sizes) const {
    Batch<T> values;
    if (!status_.ok()) return values;
    values.data = static_cast<T*>(pointers[i]);
    if (sizes.size() > 0) values.rows = sizes.begin()[0];
    if (sizes.size() > 1) values.cols = sizes.begin()[1];
    return values;
  }
  void refuse(std::string_view what);
  void check(bool is_operand, size_t i, DType dtype, Sizes sizes);

  const Call& call_;
  Status status_;
  std::span<const int64_t> batch_dims_;
  Index batch_ = 0, rows_ = 0, cols_ = 0;
};

// f(b) for each element of the batch, on the call's threads; `cost` is one's floating-point
// operations. A std::bad_alloc becomes RESOURCE_EXHAUSTED.
Status forEachIn(const Call& call, Index batch, double cost, kernels::TaskFn run, void* context);
template <class F>
Status forEachIn(const Call& call, Index batch, double cost, F&& f) {
  auto run = [](void* context, int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) (*static_cast<std::remove_reference_t<F>*>(context))(b);
  };
  return forEachIn(call, batch, cost, +run, &f);
}

}  // namespace tercel::linalg
