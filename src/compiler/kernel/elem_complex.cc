#include "compiler/kernel/elem.h"
#include "core/status.h"

namespace tercel::kernel {

Elem emitComplex(Builder& b, const ir::Op& op, DType in, DType out, std::span<const Elem> args) {
  (void)b; (void)in; (void)out; (void)args;
  TERCEL_CHECK(false, ir::opName(op.kind), " of complex numbers");
  return {};
}

}  // namespace tercel::kernel
