#include "tools/program_input.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <random>

#include "tools/command_line.h"

namespace tercel::tools {
namespace {

constexpr std::string_view kNumpyMagic = "\x93NUMPY";

// The text that a .npy file starts with, and where its elements begin. The lengths before the text are
// little-endian.
struct NumpyHeader {
  std::string_view text;
  size_t elements;
};

Result<NumpyHeader> numpyHeader(std::string_view file, const std::string& path) {
  if (file.size() < 12) return invalidArgument(path, " is cut off");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(file[i])); };
  size_t start = byte(6) == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (start == 12) length |= byte(10) << 16 | byte(11) << 24;
  if (file.size() - start < length) return invalidArgument(path, " is cut off");
  return NumpyHeader{file.substr(start, length), start + length};
}

// What stands after a key, up to one of `ends`.
std::string_view valueOf(std::string_view header, std::string_view key, std::string_view ends) {
  const size_t at = header.find(key);
  if (at == header.npos) return {};
  std::string_view rest = header.substr(at + key.size());
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(": '(")));
  return rest.substr(0, rest.find_first_of(ends));
}

// How NumPy writes the type: "<f4". Types that it lacks are bytes to it, as ml_dtypes has them.
std::string numpyType(DType dtype) {
  const bool is_foreign = isSmall(dtype) || dtype == DType::bf16;
  const bool is_byte = byteSize(dtype) == 1;
  const char kind = is_foreign          ? 'V'
                    : isPred(dtype)     ? 'b'
                    : isSigned(dtype)   ? 'i'
                    : isUnsigned(dtype) ? 'u'
                    : isComplex(dtype)  ? 'c'
                                        : 'f';
  return cat(is_byte && !is_foreign ? '|' : '<', kind, byteSize(dtype));
}

std::string numpyDims(const Dims& dims) {
  std::string text;
  for (int64_t dim : dims) text += cat(text.empty() ? "" : ", ", dim);
  return dims.size() == 1 ? text + "," : text;
}

Status checkHeader(std::string_view header, const std::string& path, const Shape& shape) {
  const std::string_view order = valueOf(header, "'fortran_order'", ",}");
  const std::string_view type = valueOf(header, "'descr'", "'");
  const std::string_view dims = valueOf(header, "'shape'", ")");
  const std::string wanted = numpyType(shape.dtype);
  if (type.size() < 2 || type.substr(1) != wanted.substr(1) ||
      (type[0] != wanted[0] && byteSize(shape.dtype) > 1) || dims != numpyDims(shape.dims))
    return invalidArgument(path, " has elements ", type, " in the shape (", dims, "); ",
                           toString(shape), " is ", wanted, " in (", numpyDims(shape.dims), ")");
  if (order != "False" && shape.rank() > 1)
    return invalidArgument(path, " is in Fortran order; save a C-ordered array");
  return Status();
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
    TERCEL_ASSIGN(const NumpyHeader header, numpyHeader(file, path));
    TERCEL_TRY(checkHeader(header.text, path, shape));
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(header.elements));
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
