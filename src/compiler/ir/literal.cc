#include "compiler/ir/literal.h"

#include <cstring>

#include "core/status.h"

namespace tercel::ir {
namespace {

bool allElementsEqual(std::span<const std::byte> bytes, size_t element) {
  return bytes.size() > element &&
         std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0;
}

}  // namespace

Literal::Literal(Shape shape, std::vector<std::byte> bytes) : shape_(std::move(shape)) {
  size_t element = byteSize(shape_.dtype);
  size_t whole = static_cast<size_t>(shape_.bytes());
  TERCEL_CHECK(bytes.size() == whole || bytes.size() == element, "literal of ",
               toString(shape_), " from ", bytes.size(), " bytes");
  is_splat_ = bytes.size() == element || allElementsEqual(bytes, element);
  if (is_splat_) bytes.resize(element);
  bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

Literal Literal::splat(Shape shape, const void* element) {
  std::vector<std::byte> bytes(byteSize(shape.dtype));
  std::memcpy(bytes.data(), element, bytes.size());
  Literal literal;
  literal.shape_ = std::move(shape);
  literal.bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  literal.is_splat_ = true;
  return literal;
}

Literal Literal::splatOf(Shape shape, double number) {
  return visitDType(shape.dtype, [&]<class T>() {
    T element;
    if constexpr (std::is_same_v<T, std::complex<float>>)
      element = T(static_cast<float>(number));
    else
      element = static_cast<T>(number);
    return splat(shape, &element);
  });
}

std::span<const std::byte> Literal::bytes() const {
  return bytes_ ? std::span<const std::byte>(*bytes_) : std::span<const std::byte>();
}

Literal Literal::expanded() const {
  size_t element = byteSize(shape_.dtype);
  size_t whole = static_cast<size_t>(shape_.bytes());
  if (!is_splat_ || whole == element) {
    Literal same = *this;
    same.is_splat_ = false;
    return same;
  }
  std::vector<std::byte> bytes(whole);
  for (size_t at = 0; at < whole; at += element)
    std::memcpy(bytes.data() + at, bytes_->data(), element);
  Literal all;
  all.shape_ = shape_;
  all.bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return all;
}

Literal Literal::withShape(Shape shape) const {
  Literal same = *this;
  same.shape_ = std::move(shape);
  return same;
}

double Literal::number(int64_t index) const {
  return visitDType(shape_.dtype, [&]<class T>() -> double {
    T value = at<T>(index);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return static_cast<float>(value);
    else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>)
      return value.real();
    else
      return static_cast<double>(value);
  });
}

bool operator==(const Literal& a, const Literal& b) {
  if (!(a.shape_ == b.shape_)) return false;
  if (a.is_splat_ != b.is_splat_) {
    auto x = a.expanded(), y = b.expanded();
    return std::ranges::equal(x.bytes(), y.bytes());
  }
  return a.bytes_ == b.bytes_ || std::ranges::equal(a.bytes(), b.bytes());
}

}  // namespace tercel::ir
