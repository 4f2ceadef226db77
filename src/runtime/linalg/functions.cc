#include "runtime/linalg/functions.h"

#include <algorithm>
#include <complex>

#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

struct Row {
  std::string_view target;
  Function function;
  int64_t (*largest_side)() = nullptr;  // in lanes; null: none is done so
};

#define ROWS(function, real_name, complex_name, side)                     \
  {"lapack_s" #real_name "_ffi", function<float>, side},                  \
  {"lapack_d" #real_name "_ffi", function<double>, side},                 \
  {"lapack_c" #complex_name "_ffi", function<std::complex<float>>, side}, \
  {"lapack_z" #complex_name "_ffi", function<std::complex<double>>, side},

constexpr Row kTable[] = {
#define LINALG(function, real_name, complex_name) ROWS(function, real_name, complex_name, nullptr)
#define LINALG_IN_LANES(function, real_name, complex_name) \
  ROWS(function, real_name, complex_name, largestSide)
#define LINALG_BY_ROTATIONS(function, real_name, complex_name) \
  ROWS(function, real_name, complex_name, largestTurnedSide)
#define LINALG_OF_ANY_TYPE(function, target) {#target, function},
#include "runtime/linalg/functions.def"
};

// What is left to LAPACK for matrices that are not done side by side: it is faster; and Schur
// forms and the order of complex matrices' eigenvalues, which are not unique, are expected to be
// SciPy's.
#define OF_EACH_TYPE(function) \
  function<float>, function<double>, function<std::complex<float>>, function<std::complex<double>>
constexpr Function kLeftToLapack[] = {OF_EACH_TYPE(syevd), OF_EACH_TYPE(gesdd), OF_EACH_TYPE(gees),
                                      geev<std::complex<float>>, geev<std::complex<double>>};
#undef OF_EACH_TYPE

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

bool isPreferred(std::string_view target, const program::CallSignature& signature) {
  const Row* row = rowOf(target);
  if (!row) return false;
  const bool is_left = std::ranges::find(kLeftToLapack, row->function) != std::end(kLeftToLapack);
  return !is_left || (row->largest_side && isBatchForRotations(signature, row->largest_side()));
}

}  // namespace tercel::linalg
