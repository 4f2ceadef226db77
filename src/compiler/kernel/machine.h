#pragma once
#include <cstdint>

namespace tercel::kernel {

// What the generated code may count on.
struct Machine {
  int vector_bytes = 64;
  int vector_registers = 32;
  bool has_scalb = true;  // as one instruction
  bool has_rsqrt14 = false;
  bool slow_subnormals = true;  // microcode makes arithmetic with them
  bool slow_division = true;    // of the widest vectors: as long as a dozen products
  bool halves_vectors = false;  // computes with the widest ones in two halves
  int masked_bytes = 1;  // of the smallest elements that one instruction loads by a mask
  // As codegen's Target has them.
  bool has_pair_dot = false, has_byte_dot = false, has_bf16_dot = false, has_tiles = false;
  int lookup_bytes = 0;  // of the smallest elements that are found in a vector by number; 0: none are
  bool has_half_arithmetic = false;  // of f16, in vectors
  int64_t l2_bytes = 1 << 20;

  bool hasMasks() const { return masked_bytes == 1; }  // of any elements, to load and to store
  bool looksUp(int64_t element_bytes, int64_t lanes) const {
    const int64_t bytes = element_bytes * lanes;
    return lookup_bytes > 0 && element_bytes >= lookup_bytes &&
           (bytes == 64 || bytes == 32 || (bytes == 16 && element_bytes <= 2));
  }
};

}  // namespace tercel::kernel
