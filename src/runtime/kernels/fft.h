// Fourier transforms over the last one, two or three dimensions of an array.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "core/status.h"
#include "runtime/kernels/parallel.h"

namespace tercel::kernels {

enum class FftKind : uint8_t { fft, ifft, rfft, irfft };

// lengths: of the transformed dimensions, as they are where the array is real or complex in full.
// An rfft's result and an irfft's operand have lengths.back() / 2 + 1 elements in the last one.
struct FftShape {
  FftKind kind = FftKind::fft;
  int64_t batch = 1;
  std::span<const int64_t> lengths;
};

// Its tables are made once; several threads may run it at once.
class Fft {
 public:
  virtual ~Fft() = default;
  // Operand and result share no memory. RESOURCE_EXHAUSTED where there is none for what lies
  // between.
  virtual Status run(const void* operand, void* result, const Parallel& parallel) const = 0;
};

// Of floats or doubles. Throws std::bad_alloc. All of the shape's numbers must be positive.
template <class T>
std::unique_ptr<const Fft> makeFft(const FftShape& shape);

}  // namespace tercel::kernels
