// Which instructions matrices in lanes use on x86-64.
#include "runtime/kernels/isa.h"
#include "runtime/linalg/lanes.h"

namespace tercel::linalg::lanes {

#define TERCEL_DISPATCH(function)          \
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
  }                                        \
  TERCEL_LANE_INSTANCES(function)
TERCEL_LANE_FUNCTIONS(TERCEL_DISPATCH)

}  // namespace tercel::linalg::lanes
