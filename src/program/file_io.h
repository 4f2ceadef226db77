// Reading and writing fields of a file. The order of a format's fields stands once, in a function over
// an IO; Writer and Reader are its two directions, and what a file does not hold is the Reader's
// failure. Numbers are little-endian.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tercel::program {

static_assert(std::endian::native == std::endian::little);

class Writer {
 public:
  static constexpr bool kReading = false;

  template <class T>
  void number(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&value, sizeof(T));
  }
  void flag(const bool& value) { number<uint8_t>(value); }
  void text(const std::string& value) { bytes(value); }
  template <class Container>
  void bytes(const Container& value) {
    number<uint64_t>(value.size());
    raw(value.data(), value.size());
  }
  template <class Container, class F>
  void list(const Container& items, size_t, F each) {
    number<uint64_t>(items.size());
    for (const auto& item : items) each(item);
  }

  std::vector<std::byte> out;

 private:
  void raw(const void* data, size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + size);
  }
};

class Reader {
 public:
  static constexpr bool kReading = true;
  explicit Reader(std::span<const std::byte> in) : in_(in) {}

  template <class T>
  void number(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (in_.size() < sizeof(T)) return fail();
    std::memcpy(&value, in_.data(), sizeof(T));
    in_ = in_.subspan(sizeof(T));
  }
  void flag(bool& value) {
    uint8_t byte = 0;
    number(byte);
    if (byte > 1) return fail();
    value = byte == 1;
  }
  void text(std::string& value) { bytes(value); }
  template <class Container>
  void bytes(Container& value) {
    uint64_t size = 0;
    number(size);
    if (size > in_.size()) return fail();
    const auto* from = reinterpret_cast<const typename Container::value_type*>(in_.data());
    value.assign(from, from + size);
    in_ = in_.subspan(size);
  }
  // What bytes() wrote, of a size that is known, where it lies.
  std::span<const std::byte> view(size_t size) {
    uint64_t stored = 0;
    number(stored);
    if (stored != size || size > in_.size()) return fail(), std::span<const std::byte>();
    const auto bytes = in_.first(size);
    in_ = in_.subspan(size);
    return bytes;
  }
  // An item takes `least` bytes or more, so that a damaged count cannot ask for much memory.
  template <class Container, class F>
  void list(Container& items, size_t least, F each) {
    uint64_t count = 0;
    number(count);
    if (count > in_.size() / least) return fail();
    items = Container(count);  // less code than resize(), for each type that there is
    for (auto& item : items) {
      if (failed_) return;
      each(item);
    }
  }
  bool failed() const { return failed_; }
  size_t remaining() const { return in_.size(); }

 private:
  void fail() {
    failed_ = true;
    in_ = {};
  }
  std::span<const std::byte> in_;
  bool failed_ = false;
};

template <class IO, class T>
void transferNumbers(IO& io, T& items) {
  io.list(items, sizeof(typename T::value_type), [&](auto& item) { io.number(item); });
}

template <class IO, class ShapeT>
void transferShape(IO& io, ShapeT& shape) {
  io.number(shape.dtype);
  transferNumbers(io, shape.dims);
}

}  // namespace tercel::program
