// A constant array: a shape and its row-major bytes, shared and never changed once made.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"

namespace tercel::ir {

class Literal {
 public:
  Literal() = default;
  // `bytes` holds shape.bytes() bytes, or those of one element that all elements equal.
  Literal(Shape shape, std::vector<std::byte> bytes);
  template <class T>
  static Literal scalar(T value) {
    return splat(Shape{DTypeOf<T>::value, {}}, &value);
  }
  static Literal splat(Shape shape, const void* element);
  // `number` converted to the element type of `shape`, everywhere.
  static Literal splatOf(Shape shape, double number);

  const Shape& shape() const { return shape_; }
  bool isSplat() const { return is_splat_; }
  // One element where isSplat(), all of them otherwise.
  std::span<const std::byte> bytes() const;
  // All elements, written out; shares the bytes where they already are.
  Literal expanded() const;
  // The same bytes under another shape of as many elements (and the same element size).
  Literal withShape(Shape shape) const;
  template <class T>
  T at(int64_t index) const {
    return reinterpret_cast<const T*>(bytes().data())[is_splat_ ? 0 : index];
  }
  // Element as double (real part of complex).
  double number(int64_t index) const;
  // Bytewise equal after expansion; NaNs with equal bits are equal.
  friend bool operator==(const Literal& a, const Literal& b);

 private:
  Shape shape_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  bool is_splat_ = false;
};

}  // namespace tercel::ir
