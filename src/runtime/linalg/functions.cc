#include "runtime/linalg/functions.h"

#include <complex>

namespace tercel::linalg {
namespace {

struct Row {
  std::string_view target;
  Function function;
  bool is_preferred = true;
};

#define ROWS(function, real_name, complex_name, is_preferred)                         \
  {"lapack_s" #real_name "_ffi", function<float>, is_preferred},                      \
      {"lapack_d" #real_name "_ffi", function<double>, is_preferred},                 \
      {"lapack_c" #complex_name "_ffi", function<std::complex<float>>, is_preferred}, \
      {"lapack_z" #complex_name "_ffi", function<std::complex<double>>, is_preferred},

constexpr Row kTable[] = {
#define LINALG(function, real_name, complex_name) ROWS(function, real_name, complex_name, true)
#define LINALG_LEFT_TO_LAPACK(function, real_name, complex_name) \
  ROWS(function, real_name, complex_name, false)
#define LINALG_OF_ANY_TYPE(function, target) {#target, function},
#include "runtime/linalg/functions.def"
};

const Row* rowOf(std::string_view target) {
  for (const Row& row : kTable) {
    if (row.target == target) return &row;
  }
  return nullptr;
}

}  // namespace

Function find(std::string_view target) {
  const Row* row = rowOf(target);
  return row ? row->function : nullptr;
}

bool isPreferred(std::string_view target) {
  const Row* row = rowOf(target);
  return row && row->is_preferred;
}

}  // namespace tercel::linalg
