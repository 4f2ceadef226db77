// Division by a number that is known, as two products.
#pragma once
#include <optional>

namespace tercel::kernel {

// high + low is 1 / divisor to twice the precision; fma(x, high, x * low) is x / divisor, rounded
// once, for 0, infinities, NaN and each x of at least the magnitude `least`.
template <typename T>
struct ExactInverse {
  T high, low, least;
};

// For float and double; none where the two products are not right for each x, or the divisor is
// not of moderate size. After N. Brisebarre, J.-M. Muller, S. K. Raina: Accelerating correctly rounded
// floating-point division when the divisor is known in advance, IEEE Transactions on Computers 53(8),
// 2004: what may be rounded otherwise is so near to the middle of two numbers that all of it can be
// listed and looked at.
template <typename T>
std::optional<ExactInverse<T>> exactInverse(T divisor);

}  // namespace tercel::kernel
