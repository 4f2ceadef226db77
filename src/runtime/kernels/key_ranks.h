// The order of a short row, or of the few elements of a longer one that are wanted, from how many
// go before each: comparisons of whole vectors, and no branch on what they say.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/kernels/key_bits.h"

namespace tercel::kernels {

struct KeyRanks {
  int64_t longest;           // row whose order is found by ranks alone
  int64_t most;              // elements that are selected of a longer one
  int64_t longest_selected;  // of which they are
  // Of keys of up to four bytes. Writes the places of the first `kept` of n elements, which are
  // `stride` bytes apart, to order: room for `longest` and for `most`. keys: for n and kKeySlack.
  // False where other ways are better.
  bool (*order)(const KeyForm& form, const std::byte* row, int64_t stride, int64_t n, int64_t kept,
                int32_t* keys, uint32_t* order);
};

constexpr int64_t kKeySlack = 64;

const KeyRanks& keyRanks();  // for this machine

}  // namespace tercel::kernels
