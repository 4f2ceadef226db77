// Which instructions dense matrices use on x86-64.
#include "runtime/kernels/isa.h"
#include "runtime/linalg/dense_steps.h"

namespace tercel::linalg::dense {

#define TERCEL_DISPATCH(function, Job)     \
  template <class T>                       \
  void function(const Job<T>& job) {       \
    switch (kernels::isaOfThisMachine()) { \
      case kernels::Isa::baseline:         \
        return baseline::function<T>(job); \
      case kernels::Isa::avx2:             \
        return avx2::function<T>(job);     \
      case kernels::Isa::avx512:           \
        return avx512::function<T>(job);   \
    }                                      \
  }
TERCEL_DENSE_FUNCTIONS(TERCEL_DISPATCH)
TERCEL_REAL_FUNCTIONS(TERCEL_DISPATCH)
TERCEL_STEP_FUNCTIONS(TERCEL_DISPATCH)
TERCEL_DENSE_FUNCTIONS(TERCEL_DENSE_INSTANCES)
TERCEL_REAL_FUNCTIONS(TERCEL_REAL_INSTANCES)
TERCEL_STEP_FUNCTIONS(TERCEL_DENSE_INSTANCES)

}  // namespace tercel::linalg::dense
