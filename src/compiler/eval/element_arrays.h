// Several arrays side by side, read and written one element of each at a time by a ScalarFunction.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "compiler/eval/elementwise.h"
#include "compiler/eval/output.h"
#include "compiler/eval/scalar_function.h"

namespace tercel::eval {

class InputArrays {
 public:
  // `literals` as the function's arguments from number `first` on.
  InputArrays(Operands literals, const ScalarFunction& function, size_t first) {
    for (size_t i = 0; i < literals.size(); ++i)
      arrays_.emplace_back(convertLiteral(literals[i], function.argType(first + i)));
  }
  // Pointers to element `at` of each.
  void point(int64_t at, const void** pointers) const {
    for (const Input& array : arrays_)
      *pointers++ = array.bytes() + at * static_cast<int64_t>(byteSize(array.shape().dtype));
  }

 private:
  std::vector<Input> arrays_;
};

class OutputArrays {
 public:
  void add(Shape shape) { arrays_.emplace_back(std::move(shape)); }
  // One more array, with the elements of `initial` (spread over `dims` where it is a scalar).
  void add(const Literal& initial, DType dtype, const Dims& dims) {
    Input from(spread(convertLiteral(initial, dtype), dims));
    arrays_.emplace_back(from.shape());
    std::copy_n(from.bytes(), from.shape().bytes(), arrays_.back().bytes());
  }
  template <class Pointer>
  void point(int64_t at, Pointer* pointers) {
    for (Output& array : arrays_)
      *pointers++ = array.bytes() + at * static_cast<int64_t>(byteSize(array.shape().dtype));
  }
  // The arrays, converted to the types of the results of `op`.
  Literals take(const Evaluation& evaluation, const Op& op) {
    Literals literals;
    for (size_t i = 0; i < arrays_.size(); ++i)
      literals.push_back(convertLiteral(arrays_[i].take(), evaluation.resultShape(op, i).dtype));
    return literals;
  }

 private:
  std::vector<Output> arrays_;
};

}  // namespace tercel::eval
