// The order of keys as an order of numbers, without branches. Plain code: it is compiled for each
// instruction set.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tercel {
struct SortKey;
}

namespace tercel::kernels {

// Masks of words that begin with a key's bits.
struct KeyForm {
  int bytes = 4;
  uint64_t turned = 0;                   // what a sign turns around: of floats
  uint64_t flipped = 0;                  // of all keys
  uint64_t zero = ~uint64_t{};           // what stays of the bits of a zero
  uint64_t infinity = ~uint64_t{} >> 1;  // what is greater goes last
  uint64_t reversed = 0;                 // in the end
};

KeyForm formOf(const SortKey& key);

// In a word of U's size.
template <class U>
struct KeyMasks {
  using S = std::make_signed_t<U>;
  static constexpr int kTop = 8 * static_cast<int>(sizeof(U)) - 1;
  static constexpr S kMagnitude = static_cast<S>(static_cast<U>(~U{0}) >> 1);
  S turned, flipped, zero, infinity, reversed;

  [[gnu::always_inline]] explicit KeyMasks(const KeyForm& form)
      : turned(first(form.turned)), flipped(first(form.flipped)), zero(first(form.zero)),
        infinity(first(form.infinity)), reversed(first(form.reversed)) {}
  // Whether different bits may be equal keys: zeros, NaN.
  [[gnu::always_inline]] bool hasEqualBits() const { return infinity != kMagnitude; }
  // Of the key's bits, or of a word that begins with them, as an unsigned number.
  [[gnu::always_inline]] U order(U bits) const {
    const S x = static_cast<S>(bits), magnitude = static_cast<S>(x & kMagnitude);
    const S kept = magnitude == 0 ? static_cast<S>(x & zero) : x;
    const S key = static_cast<S>(kept ^ ((kept >> kTop) & turned) ^ flipped);
    return static_cast<U>((magnitude > infinity ? S{-1} : key) ^ reversed);
  }
  // The same where no bits are equal to others.
  [[gnu::always_inline]] U orderOfBits(U bits) const {
    const S x = static_cast<S>(bits);
    return static_cast<U>(x ^ ((x >> kTop) & turned) ^ flipped ^ reversed);
  }

 private:
  [[gnu::always_inline]] static S first(uint64_t word) {
    return static_cast<S>(static_cast<U>(word >> (63 - kTop)));
  }
};

}  // namespace tercel::kernels
