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
#include "runtime/linalg/functions.def"
};

}  // namespace
}  // namespace tercel::engine

#define PART(name, function, type)                                                \
  extern "C" void tercel_part_lapack_##name##_ffi(void);                          \
  void tercel_part_lapack_##name##_ffi(void) {                                    \
    using namespace tercel;                                                       \
    engine::choose(engine::name, "lapack_" #name "_ffi", linalg::function<type>); \
  }
#define LINALG(function, real_name, complex_name)      \
  PART(s##real_name, function, float)                  \
  PART(d##real_name, function, double)                 \
  PART(c##complex_name, function, std::complex<float>) \
  PART(z##complex_name, function, std::complex<double>)
#include "runtime/linalg/functions.def"
