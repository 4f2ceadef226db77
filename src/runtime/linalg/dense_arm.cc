// Dense matrices have NEON's vectors on aarch64.
#include "runtime/linalg/dense.h"

namespace tercel::linalg::dense {

#define TERCEL_DISPATCH(function, Job) \
  template <class T>                   \
  void function(const Job<T>& job) {   \
    baseline::function<T>(job);        \
  }                                    \
  TERCEL_DENSE_INSTANCES(function, Job)
TERCEL_DENSE_FUNCTIONS(TERCEL_DISPATCH)

}  // namespace tercel::linalg::dense
