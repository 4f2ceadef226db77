#include "runtime/linalg/dense_steps.h"

namespace tercel::linalg::dense {

#define TERCEL_DISPATCH(function, Job) \
  template <class T>                   \
  void function(const Job<T>& job) {   \
    TERCEL_CHOSEN(function<T>)(job);   \
  }
TERCEL_DENSE_FUNCTIONS(TERCEL_DISPATCH)
TERCEL_REAL_FUNCTIONS(TERCEL_DISPATCH)
TERCEL_STEP_FUNCTIONS(TERCEL_DISPATCH)
TERCEL_DENSE_FUNCTIONS(TERCEL_DENSE_INSTANCES)
TERCEL_REAL_FUNCTIONS(TERCEL_REAL_INSTANCES)
TERCEL_STEP_FUNCTIONS(TERCEL_DENSE_INSTANCES)

}  // namespace tercel::linalg::dense
