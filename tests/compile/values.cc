#include "compile/values.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace tercel::compiler {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Converted to each float type, where some overflow or become subnormal.
constexpr double kSpecial[] = {
    NAN,  kInf,  -kInf,  0.0,    -0.0,   1.0,    -1.0,    0.5,     -0.5,   1.5,   2.5,    -2.5,
    3.0,  1e-40, -1e-40, 1e-45,  6e-8,   1e-39,  65504.0, 3.4e38,  1e-310, 5e-324, 1.7e308, 88.8,
    -104, 1e5,   -1e5,   0.9999, 1.0001, 1e-5,   -1e-5,   3.14159, 0.785,  2147483648.0,
    -2147483648.0, 9.3e18, 255.0, 256.0, -129.0, 32768.0};

double randomNumber(Numbers numbers, std::mt19937_64& random) {
  double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  if (numbers == Numbers::small) return unit * 4 - 2;
  if (random() % 3 == 0) {
    double number = kSpecial[random() % std::size(kSpecial)];
    if (numbers == Numbers::special || std::isfinite(number)) return number;
  }
  double size = std::exp2(static_cast<double>(random() % 24) - 12);
  return (unit * 2 - 1) * size;
}

template <class T>
T randomInteger(Numbers numbers, std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  if (numbers == Numbers::small) {
    int64_t value = static_cast<int64_t>(random() % 16) - 3;
    return static_cast<T>(std::is_signed_v<T> ? value : std::abs(value));
  }
  switch (random() % 8) {
    case 0: return Limits::min();
    case 1: return Limits::max();
    case 2: return T(0);
    case 3: return static_cast<T>(-1);
    case 4: return static_cast<T>(random() % 130);
    default: return static_cast<T>(random() >> (random() % 64));
  }
}

template <class T>
T randomElement(Numbers numbers, std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return random() % 2 == 0;
  } else if constexpr (std::is_integral_v<T>) {
    return randomInteger<T>(numbers, random);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    using R = typename T::value_type;
    R real = randomElement<R>(numbers, random);
    return T(real, randomElement<R>(numbers, random));
  } else {
    T value = T(randomNumber(numbers, random));
    double rounded = static_cast<double>(static_cast<float>(value));
    if (numbers == Numbers::finite && !std::isfinite(rounded)) return T(1.0);
    return value;
  }
}

}  // namespace

ir::Literal randomLiteral(const Shape& shape, Numbers numbers, std::mt19937_64& random) {
  std::vector<std::byte> bytes(static_cast<size_t>(shape.bytes()));
  visitDType(shape.dtype, [&]<class T>() {
    for (int64_t i = 0; i < shape.elements(); ++i) {
      T element = randomElement<T>(numbers, random);
      std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
    }
  });
  return ir::Literal(shape, std::move(bytes));
}

eval::Literals argumentsFor(const ir::Module& module, Numbers numbers) {
  std::mt19937_64 random(module.valueCount());
  eval::Literals values;
  for (ir::Value v : module.region(module.main().body).args)
    values.push_back(randomLiteral(module.shape(v), numbers, random).expanded());
  return values;
}

}  // namespace tercel::compiler
