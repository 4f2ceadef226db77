// Matrices of complex doubles, whatever type the function under test computes in, and calls of it.
#pragma once
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "runtime/linalg/functions.h"

namespace tercel::linalg_test {

using Number = std::complex<double>;

struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<Number> data;  // column-major

  Matrix() = default;
  Matrix(int64_t rows, int64_t cols)
      : rows(rows), cols(cols), data(static_cast<size_t>(rows * cols)) {}
  Number& at(int64_t i, int64_t j) { return data[static_cast<size_t>(j * rows + i)]; }
  const Number& at(int64_t i, int64_t j) const { return data[static_cast<size_t>(j * rows + i)]; }
};

Matrix identity(int64_t n);
Matrix operator*(const Matrix& a, const Matrix& b);
Matrix operator-(const Matrix& a, const Matrix& b);
Matrix adjoint(const Matrix& a);
Matrix transpose(const Matrix& a);
Matrix columns(const Matrix& a, int64_t begin, int64_t end);
// Elements where j - i >= first, and zeros.
Matrix upper(const Matrix& a, int64_t first = 0);
double norm(const Matrix& a);

// One of LAPACK's four types.
struct Type {
  char letter;
  DType dtype;
  DType real;
  double epsilon;
  bool is_complex() const { return dtype != real; }
};
inline constexpr Type kTypes[] = {{'s', DType::f32, DType::f32, 6e-8},
                                  {'d', DType::f64, DType::f64, 1.2e-16},
                                  {'c', DType::c64, DType::f32, 6e-8},
                                  {'z', DType::c128, DType::f64, 1.2e-16}};

// Random numbers that are of the type.
class Random {
 public:
  explicit Random(Type type) : type_(type) {}
  Number number();
  Matrix matrix(int64_t rows, int64_t cols);
  Matrix hermitian(int64_t n);
  Matrix positive(int64_t n);

 private:
  Type type_;
  std::mt19937 bits_{7};
};

// An operand or result: a matrix, a vector (one column) or a number for each element of the batch.
struct Value {
  DType dtype = DType::f32;
  int rank = 2;  // besides the batch
  std::vector<Matrix> batch;
};
Value value(DType dtype, std::vector<Matrix> batch, int rank = 2);
// `count` of them, filled with 77.
Value empty(DType dtype, size_t count, int64_t rows, int64_t cols = 1, int rank = 2);

// The results, or the error. Result i is operand in_place[i]'s memory; -1, or none there: its own.
Result<std::vector<Value>> call(const std::string& target, const std::string& attributes,
                                const std::vector<Value>& operands, std::vector<Value> results,
                                const std::vector<int>& in_place = {});

}  // namespace tercel::linalg_test
