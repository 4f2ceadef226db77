#include "compiler/kernel/elem_math.h"

#include "compiler/kernel/math_builder.h"
#include "core/status.h"

namespace tercel::kernel {

V emitMath(Builder& b, ir::OpKind kind, V x, V y) {
  (void)b; (void)x; (void)y;
  TERCEL_CHECK(false, ir::opName(kind), " is not an elementwise op of real numbers");
  return {};
}

}  // namespace tercel::kernel
