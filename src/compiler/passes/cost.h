// Rough costs that rules weigh: which elementwise ops are arithmetic and which are functions.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::passes {

// A few instructions a vector; what is cheaper done again than read from memory.
inline bool isCheapElementwise(ir::OpKind kind) {
  using ir::OpKind;
  if (!ir::isElementwise(kind)) return false;
  switch (kind) {
    case OpKind::acos_:
    case OpKind::acosh_:
    case OpKind::asin_:
    case OpKind::asinh_:
    case OpKind::atan_:
    case OpKind::atan2_:
    case OpKind::atanh_:
    case OpKind::cbrt_:
    case OpKind::cosh_:
    case OpKind::cosine_:
    case OpKind::divide_:
    case OpKind::erf_:
    case OpKind::exponential_:
    case OpKind::exponential_minus_one_:
    case OpKind::log_:
    case OpKind::log_plus_one_:
    case OpKind::logistic_:
    case OpKind::map_:
    case OpKind::power_:
    case OpKind::remainder_:
    case OpKind::rsqrt_:
    case OpKind::sine_:
    case OpKind::sinh_:
    case OpKind::sqrt_:
    case OpKind::tan_:
    case OpKind::tanh_:
      return false;
    default:
      return true;
  }
}

}  // namespace tercel::passes
