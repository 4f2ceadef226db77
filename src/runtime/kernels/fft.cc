#include "runtime/kernels/fft.h"

#include <new>
#include <vector>

#include "runtime/kernels/fft_lines.h"

namespace tercel::kernels {
namespace fft {

namespace {

template <class T>
class Transform : public Fft {
 public:
  explicit Transform(const FftShape& shape) : kind_(shape.kind) {
    std::vector<int64_t> dims(shape.lengths.begin(), shape.lengths.end());
    const int64_t last = dims.back();
    const bool real = kind_ == FftKind::rfft || kind_ == FftKind::irfft;
    if (real) dims.back() = last / 2 + 1;
    int64_t outer = shape.batch, inner = 1;
    for (int64_t d : dims) outer *= d;
    elements_ = outer;
    for (size_t d = dims.size(); d-- > 0; inner *= dims[d]) {
      outer /= dims[d];
      const bool first = d + 1 == dims.size();
      stages_.emplace_back(direction(first && real), first ? last : dims[d],
                           LineLayout{outer, inner});
    }
  }

  Status run(const void* operand, void* result, const Parallel& parallel) const override try {
    const T* from = static_cast<const T*>(operand);
    T* to = static_cast<T*>(result);
    if (kind_ == FftKind::irfft) {
      runToReal(from, to, parallel);
      return Status();
    }
    for (const Lines<T>& stage : stages_) {
      stage.run(from, to, parallel);
      from = to;
    }
    return Status();
  } catch (const std::bad_alloc&) {
    return resourceExhausted("no memory for a Fourier transform");
  }

 private:
  Direction direction(bool real) const {
    const bool inverse = kind_ == FftKind::ifft || kind_ == FftKind::irfft;
    if (real) return inverse ? Direction::real_inverse : Direction::real_forward;
    return inverse ? Direction::inverse : Direction::forward;
  }

  // The last dimension becomes real when the others are done.
  void runToReal(const T* from, T* to, const Parallel& parallel) const {
    KeptMemory<T> memory;
    T* between = stages_.size() > 1 ? memory.take(2 * elements_) : nullptr;
    for (size_t i = 1; i < stages_.size(); ++i) {
      stages_[i].run(from, between, parallel);
      from = between;
    }
    stages_[0].run(from, to, parallel);
  }

  FftKind kind_;
  int64_t elements_;            // complex ones, of all lines
  std::vector<Lines<T>> stages_;  // from the last dimension to the first
};

}  // namespace
}  // namespace fft

template <class T>
std::unique_ptr<const Fft> makeFft(const FftShape& shape) {
  return std::make_unique<fft::Transform<T>>(shape);
}

template std::unique_ptr<const Fft> makeFft<float>(const FftShape& shape);
template std::unique_ptr<const Fft> makeFft<double>(const FftShape& shape);

}  // namespace tercel::kernels
