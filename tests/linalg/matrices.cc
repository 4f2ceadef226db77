#include "linalg/matrices.h"

#include <cmath>
#include <cstring>

namespace tercel::linalg_test {
namespace {

size_t elementBytes(DType dtype) { return byteSize(dtype); }

void pack(DType dtype, Number x, std::byte* to) {
  auto put = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
  switch (dtype) {
    case DType::s32: return put(static_cast<int32_t>(x.real()));
    case DType::f32: return put(static_cast<float>(x.real()));
    case DType::f64: return put(x.real());
    case DType::c64: return put(std::complex<float>(x));
    default: return put(x);
  }
}

template <class T>
Number get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return Number(value);
}

Number unpack(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::s32: return get<int32_t>(from);
    case DType::f32: return get<float>(from);
    case DType::f64: return get<double>(from);
    case DType::c64: return get<std::complex<float>>(from);
    default: return get<Number>(from);
  }
}

std::vector<std::byte> bytesOf(const Value& value) {
  std::vector<std::byte> bytes;
  for (const Matrix& matrix : value.batch) {
    for (const Number& x : matrix.data) {
      bytes.resize(bytes.size() + elementBytes(value.dtype));
      pack(value.dtype, x, bytes.data() + bytes.size() - elementBytes(value.dtype));
    }
  }
  return bytes;
}

program::CallValue typeOf(const Value& value) {
  program::CallValue type;
  type.shape.dtype = value.dtype;
  type.shape.dims.push_back(static_cast<int64_t>(value.batch.size()));
  if (value.rank > 0) type.shape.dims.push_back(value.batch.empty() ? 1 : value.batch[0].rows);
  if (value.rank > 1) type.shape.dims.push_back(value.batch.empty() ? 1 : value.batch[0].cols);
  return type;
}

// Tasks in groups of one, the last first.
void backwards(void*, int64_t tasks, int64_t, kernels::TaskFn fn, void* context) {
  for (int64_t i = tasks; i-- > 0;) fn(context, i, i + 1);
}

}  // namespace

Matrix identity(int64_t n) {
  Matrix result(n, n);
  for (int64_t i = 0; i < n; ++i) result.at(i, i) = 1;
  return result;
}

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.cols);
  for (int64_t j = 0; j < b.cols; ++j)
    for (int64_t k = 0; k < a.cols; ++k)
      for (int64_t i = 0; i < a.rows; ++i) result.at(i, j) += a.at(i, k) * b.at(k, j);
  return result;
}

Matrix operator-(const Matrix& a, const Matrix& b) {
  Matrix result = a;
  for (size_t i = 0; i < a.data.size(); ++i) result.data[i] -= b.data[i];
  return result;
}

Matrix transpose(const Matrix& a) {
  Matrix result(a.cols, a.rows);
  for (int64_t j = 0; j < a.cols; ++j)
    for (int64_t i = 0; i < a.rows; ++i) result.at(j, i) = a.at(i, j);
  return result;
}

Matrix adjoint(const Matrix& a) {
  Matrix result = transpose(a);
  for (Number& x : result.data) x = std::conj(x);
  return result;
}

Matrix columns(const Matrix& a, int64_t begin, int64_t end) {
  Matrix result(a.rows, end - begin);
  for (int64_t j = begin; j < end; ++j)
    for (int64_t i = 0; i < a.rows; ++i) result.at(i, j - begin) = a.at(i, j);
  return result;
}

Matrix upper(const Matrix& a, int64_t first) {
  Matrix result = a;
  for (int64_t j = 0; j < a.cols; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      if (j - i < first) result.at(i, j) = 0;
  return result;
}

double norm(const Matrix& a) {
  double sum = 0;
  for (const Number& x : a.data) sum += std::norm(x);
  return std::sqrt(sum);
}

Number Random::number() {
  std::normal_distribution<double> normal;
  const double real = normal(bits_), imag = normal(bits_);
  Number x(real, type_.is_complex() ? imag : 0);
  return type_.real == DType::f32 ? Number(std::complex<float>(x)) : x;
}

Matrix Random::matrix(int64_t rows, int64_t cols) {
  Matrix result(rows, cols);
  for (Number& x : result.data) x = number();
  return result;
}

Matrix Random::hermitian(int64_t n) {
  Matrix a = matrix(n, n);
  for (int64_t j = 0; j < n; ++j) {
    a.at(j, j) = a.at(j, j).real();
    for (int64_t i = 0; i < j; ++i) a.at(i, j) = std::conj(a.at(j, i));
  }
  return a;
}

Matrix Random::positive(int64_t n) {
  Matrix a = hermitian(n);
  for (int64_t i = 0; i < n; ++i) a.at(i, i) = 4.0 * static_cast<double>(n);
  return a;
}

Value value(DType dtype, std::vector<Matrix> batch, int rank) {
  return {dtype, rank, std::move(batch)};
}

Value empty(DType dtype, size_t count, int64_t rows, int64_t cols, int rank) {
  Matrix filled(rows, cols);
  for (Number& x : filled.data) x = 77;
  return {dtype, rank, std::vector<Matrix>(count, filled)};
}

Result<std::vector<Value>> call(const std::string& target, const std::string& attributes,
                                const std::vector<Value>& operands, std::vector<Value> results,
                                const std::vector<int>& in_place) {
  const linalg::Function function = linalg::find(target);
  if (!function) return unimplemented(target);
  program::CallSignature signature;
  std::vector<std::vector<std::byte>> in, out;
  std::vector<void*> in_pointers, out_pointers;
  for (const Value& operand : operands) {
    signature.operands.push_back(typeOf(operand));
    in.push_back(bytesOf(operand));
    in_pointers.push_back(in.back().data());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    signature.results.push_back(typeOf(results[i]));
    out.push_back(bytesOf(results[i]));
    const bool own = i >= in_place.size() || in_place[i] < 0;
    out_pointers.push_back(own ? out.back().data()
                               : in_pointers[static_cast<size_t>(in_place[i])]);
  }
  linalg::Call made{attributes, &signature, in_pointers, out_pointers, {}};
  int pool = 0;
  if (in_place.empty()) made.parallel = {&pool, backwards};
  TERCEL_TRY(function(made));
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* from = static_cast<const std::byte*>(out_pointers[i]);
    for (Matrix& matrix : results[i].batch) {
      for (Number& x : matrix.data) {
        x = unpack(results[i].dtype, from);
        from += elementBytes(results[i].dtype);
      }
    }
  }
  return results;
}

}  // namespace tercel::linalg_test
