// The order of a short row, or of the few elements of a longer one that are wanted, from how many
// go before each: comparisons of whole vectors, and no branch on what they say.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tercel::kernels {

// How the bits of keys of up to four bytes become numbers of their order.
struct KeyForm {
  int bytes = 4;
  bool is_float = false, is_signed = false, is_descending = false;
  bool is_canonical = false;  // zeros of both signs are equal, and NaN of any
  uint32_t infinity = 0;      // of floats; as the first bits of a word
};

struct KeyRanks {
  int64_t longest;           // row whose order is found by ranks alone
  int64_t most;              // elements that are selected of a longer one
  int64_t longest_selected;  // of which they are
  // Writes the places of the first `kept` of n elements, which are `stride` bytes apart, to order:
  // room for `longest` and for `most`. keys: for n and kKeySlack. False where other ways are better.
  bool (*order)(const KeyForm& form, const std::byte* row, int64_t stride, int64_t n, int64_t kept,
                int32_t* keys, uint32_t* order);
};

constexpr int64_t kKeySlack = 64;

const KeyRanks& keyRanks();  // for this machine

}  // namespace tercel::kernels
