#include "runtime/engine/parts.h"

namespace tercel::engine {

const Parts& parts() {
  static constexpr Parts kAll = {kernels::makeFft<float>, kernels::makeFft<double>,
                                 kernels::sort,           kernels::keySort,
                                 linalg::find,            linalg::isPreferred,
                                 debugPrint,              kernels::rescale,
                                 kernels::scaleSums};
  return kAll;
}

}  // namespace tercel::engine
