#include <algorithm>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

// Nanoseconds for one f32 element in a vector loop.
double elementCost(const ir::Module& m, const Op& op) {
  double width = op.results.empty() ? 1 : static_cast<double>(byteSize(m.shape(op.result()).dtype)) / 4;
  width = std::max(width, 0.5);
  switch (op.kind) {
    case OpKind::constant_: case OpKind::broadcast_in_dim_: case OpKind::reshape_:
    case OpKind::slice_: case OpKind::iota_:
      return 0;
    case OpKind::exponential_: case OpKind::log_: case OpKind::logistic_: case OpKind::tanh_:
    case OpKind::erf_: case OpKind::exponential_minus_one_: case OpKind::log_plus_one_:
    case OpKind::cbrt_: case OpKind::atan_:
      return 0.6 * width;
    case OpKind::sine_: case OpKind::cosine_: case OpKind::tan_: case OpKind::power_:
    case OpKind::atan2_: case OpKind::remainder_: case OpKind::asin_: case OpKind::acos_:
    case OpKind::sinh_: case OpKind::cosh_: case OpKind::asinh_: case OpKind::acosh_:
    case OpKind::atanh_:
      return 1.2 * width;
    case OpKind::divide_: case OpKind::sqrt_: case OpKind::rsqrt_: return 0.3 * width;
    case OpKind::gather_: case OpKind::transpose_: return 0.5 * width;
    default: return 0.05 * width;
  }
}

double product(std::span<const int64_t> list) { return static_cast<double>(elementCount(list)); }

// Multiply-adds (or windows' steps) behind one element of the result.
double stepsPerElement(const ir::Module& m, const Op& op) {
  switch (op.kind) {
    case OpKind::dot_general_: {
      double steps = 1;
      for (int64_t d : op.ints(AttrKey::lhs_contracting_dimensions))
        steps *= static_cast<double>(m.shape(op.operand(0)).dims[static_cast<size_t>(d)]);
      return steps;
    }
    case OpKind::convolution_: {
      const Dims& rhs = m.shape(op.operand(1)).dims;
      double out = static_cast<double>(
          rhs[static_cast<size_t>(op.integer(AttrKey::kernel_output_feature_dimension))]);
      return product(rhs) / std::max(1.0, out);
    }
    case OpKind::reduce_window_: return product(op.ints(AttrKey::window_dimensions));
    case OpKind::reduce_:
      return static_cast<double>(m.shape(op.operand(0)).elements()) /
             static_cast<double>(std::max<int64_t>(1, m.shape(op.result()).elements()));
    default: return 0;
  }
}

}  // namespace

double clusterCost(const ir::Module& m, const Cluster& cluster) {
  constexpr double kBytesPerNanosecond = 10;
  constexpr double kLoopCost = 60e3;  // how often a loop runs is unknown
  if (cluster.nest == Nest::region) return kLoopCost;
  double cost = 0, bytes = 0;
  for (ir::OpId id : cluster.ops) {
    const Op& op = m.op(id);
    if (op.results.empty()) continue;
    double elements = static_cast<double>(m.shape(op.result()).elements());
    if (op.kind == OpKind::scatter_) elements = 20 * static_cast<double>(m.shape(op.operand(2)).elements());
    cost += elements * (elementCost(m, op) + 0.06 * stepsPerElement(m, op));
  }
  for (ir::Value v : cluster.inputs) bytes += static_cast<double>(m.shape(v).bytes());
  for (ir::Value v : cluster.outputs) bytes += static_cast<double>(m.shape(v).bytes());
  return cost + bytes / kBytesPerNanosecond;
}

}  // namespace tercel::kernel
