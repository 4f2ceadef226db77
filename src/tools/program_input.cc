#include "tools/program_input.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <random>

#include "tools/command_line.h"

namespace tercel::tools {
namespace {

constexpr std::string_view kNumpyMagic = "\x93NUMPY";

// Where the elements of a .npy file begin. Its header is text; the lengths before it little-endian.
Result<size_t> numpyOffset(std::string_view file, const std::string& path) {
  if (file.size() < 12) return invalidArgument(path, " is cut off");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(file[i])); };
  size_t start = byte(6) == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (start == 12) length |= byte(10) << 16 | byte(11) << 24;
  if (file.size() < start + length) return invalidArgument(path, " is cut off");
  if (file.substr(start, length).find("'fortran_order': True") != file.npos)
    return invalidArgument(path, " is in Fortran order; save a C-ordered array");
  return start + length;
}

template <class T>
T draw(std::mt19937_64& random) {
  std::uniform_real_distribution<double> around_zero(-2, 2);
  if constexpr (std::is_same_v<T, bool>)
    return random() % 2 == 1;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(random() % 8);
  else if constexpr (std::is_same_v<T, std::complex<float>> ||
                     std::is_same_v<T, std::complex<double>>)
    return T(static_cast<typename T::value_type>(around_zero(random)),
             static_cast<typename T::value_type>(around_zero(random)));
  else
    return T(around_zero(random));
}

}  // namespace

Result<ir::Literal> readInput(const std::string& path, const Shape& shape) {
  TERCEL_ASSIGN(std::vector<std::byte> bytes, readFile(path));
  std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (file.starts_with(kNumpyMagic)) {
    TERCEL_ASSIGN(size_t offset, numpyOffset(file, path));
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(offset));
  }
  if (static_cast<int64_t>(bytes.size()) != shape.bytes())
    return invalidArgument(path, " has ", bytes.size(), " bytes of elements; ", toString(shape),
                           " has ", shape.bytes());
  return ir::Literal(shape, std::move(bytes));
}

ir::Literal makeInput(const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(shape.bytes());
  visitDType(shape.dtype, [&]<class T>() {
    for (int64_t i = 0; i < shape.elements(); ++i) {
      T value = draw<T>(random);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return ir::Literal(shape, std::move(bytes));
}

std::string summary(const ir::Literal& literal) {
  constexpr int64_t kShown = 8;
  std::string text = toString(literal.shape());
  int64_t count = literal.shape().elements();
  for (int64_t i = 0; i < std::min(count, kShown); ++i) {
    char number[32];
    std::snprintf(number, sizeof(number), " %.8g", literal.number(i));
    text += number;
  }
  return count > kShown ? text + " ..." : text;
}

}  // namespace tercel::tools
