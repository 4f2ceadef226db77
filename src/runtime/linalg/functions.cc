#include "runtime/linalg/functions.h"

#include <complex>

#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

struct Row {
  std::string_view target;
  Function function;
  bool in_lanes = false;
};

#define ROWS(function, real_name, complex_name, in_lanes)                     \
  {"lapack_s" #real_name "_ffi", function<float>, in_lanes},                  \
  {"lapack_d" #real_name "_ffi", function<double>, in_lanes},                 \
  {"lapack_c" #complex_name "_ffi", function<std::complex<float>>, in_lanes}, \
  {"lapack_z" #complex_name "_ffi", function<std::complex<double>>, in_lanes},

constexpr Row kTable[] = {
#define LINALG(function, real_name, complex_name) ROWS(function, real_name, complex_name, false)
#define LINALG_IN_LANES(function, real_name, complex_name) \
  ROWS(function, real_name, complex_name, true)
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

bool outrunsLapack(std::string_view target, const program::CallSignature& signature) {
  const Row* row = rowOf(target);
  return row && row->in_lanes && isBatchOfSmall(signature);
}

}  // namespace tercel::linalg
