// The functions of linear algebra, each a part of its own.
#include <complex>

#include "runtime/library/embedded.h"
#include "runtime/library/parts.h"

namespace tercel::engine {
namespace {

struct Chosen {
  std::string_view target;
  linalg::Function function = nullptr;
};

// As many as there are.
Chosen functions[] = {
#define LINALG(function, real_name, complex_name) {}, {}, {}, {},
#define LINALG_OF_ANY_TYPE(function, target) {},
#include "runtime/linalg/functions.def"
};

linalg::Function find(std::string_view target) {
  for (const Chosen& chosen : functions) {
    if (chosen.target == target) return chosen.function;
  }
  return nullptr;
}

// Each has a place of its own, so that it may be chosen again.
void choose(int place, std::string_view target, linalg::Function function) {
  functions[place] = {target, function};
  chosenParts().find_linalg = find;
}

enum Places : int {
#define LINALG(function, real_name, complex_name) \
  s##real_name, d##real_name, c##complex_name, z##complex_name,
#define LINALG_OF_ANY_TYPE(function, target) function,
#include "runtime/linalg/functions.def"
};

}  // namespace
}  // namespace tercel::engine

#define PART(target, place, function)                                                \
  extern "C" void tercel_part_##target(void);                                        \
  void tercel_part_##target(void) {                                                  \
    tercel::engine::choose(tercel::engine::place, #target, tercel::linalg::function); \
  }
#define LINALG(function, real_name, complex_name) \
  PART(lapack_s##real_name##_ffi, s##real_name, function<float>)                  \
  PART(lapack_d##real_name##_ffi, d##real_name, function<double>)                 \
  PART(lapack_c##complex_name##_ffi, c##complex_name, function<std::complex<float>>) \
  PART(lapack_z##complex_name##_ffi, z##complex_name, function<std::complex<double>>)
#define LINALG_OF_ANY_TYPE(function, target) PART(target, function, function)
#include "runtime/linalg/functions.def"
