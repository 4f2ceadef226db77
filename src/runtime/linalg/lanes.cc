#include "runtime/linalg/lanes.h"

namespace tercel::linalg::lanes {

#define TERCEL_DISPATCH(function)           \
  template <class T>                        \
  void function(const Job<T>& job) {        \
    TERCEL_CHOSEN(function<T>)(job);        \
  }                                         \
  TERCEL_LANE_INSTANCES(function)
TERCEL_LANE_FUNCTIONS(TERCEL_DISPATCH)

}  // namespace tercel::linalg::lanes
