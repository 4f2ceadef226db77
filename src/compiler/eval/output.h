// The bytes of a result while they are computed.
#pragma once
#include "compiler/ir/literal.h"

namespace tercel::eval {

class Output {
 public:
  explicit Output(Shape shape)
      : shape_(std::move(shape)), bytes_(static_cast<size_t>(shape_.bytes())) {}
  const Shape& shape() const { return shape_; }
  std::byte* bytes() { return bytes_.data(); }
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes_.data());
  }
  ir::Literal take() { return ir::Literal(std::move(shape_), std::move(bytes_)); }

 private:
  Shape shape_;
  std::vector<std::byte> bytes_;
};

// All elements of a literal, written out.
class Input {
 public:
  explicit Input(const ir::Literal& literal) : literal_(literal.expanded()) {}
  const Shape& shape() const { return literal_.shape(); }
  const std::byte* bytes() const { return literal_.bytes().data(); }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes());
  }

 private:
  ir::Literal literal_;
};

}  // namespace tercel::eval
