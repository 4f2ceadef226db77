#include "runtime/linalg/functions.h"

#include <complex>

namespace tercel::linalg {
namespace {

struct Row {
  std::string_view target;
  Function function;
};

constexpr Row kTable[] = {
#define LINALG(function, real_name, complex_name)                   \
  {"lapack_s" #real_name "_ffi", function<float>},                  \
  {"lapack_d" #real_name "_ffi", function<double>},                 \
  {"lapack_c" #complex_name "_ffi", function<std::complex<float>>}, \
  {"lapack_z" #complex_name "_ffi", function<std::complex<double>>},
#define LINALG_OF_ANY_TYPE(function, target) {#target, function},
#include "runtime/linalg/functions.def"
};

}  // namespace

Function find(std::string_view target) {
  for (const Row& row : kTable) {
    if (row.target == target) return row.function;
  }
  return nullptr;
}

}  // namespace tercel::linalg
