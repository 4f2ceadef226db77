#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/ir/parallel_loop.h"
#include "compiler/kernel/contract_tiling.h"
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

double elementCost(const ir::Module& m, const Op& op) {
  double width = op.results.empty() ? 1 : static_cast<double>(byteSize(m.shape(op.result()).dtype)) / 4;
  width = std::max(width, 0.5);
  switch (op.kind) {
    case OpKind::constant_: case OpKind::broadcast_in_dim_: case OpKind::reshape_:
    case OpKind::slice_: case OpKind::iota_:
      return 0;
    case OpKind::exponential_: case OpKind::log_: case OpKind::logistic_: case OpKind::tanh_:
    case OpKind::erf_: case OpKind::exponential_minus_one_: case OpKind::log_plus_one_:
    case OpKind::cbrt_: case OpKind::atan_: case OpKind::exp2_:
      return 0.6 * width;
    case OpKind::sine_: case OpKind::cosine_: case OpKind::tan_: case OpKind::power_:
    case OpKind::atan2_: case OpKind::remainder_: case OpKind::asin_: case OpKind::acos_:
    case OpKind::sinh_: case OpKind::cosh_: case OpKind::asinh_: case OpKind::acosh_:
    case OpKind::atanh_: case OpKind::bessel_i0e_: case OpKind::bessel_i1e_: case OpKind::digamma_:
    case OpKind::erf_inv_: case OpKind::erfc_: case OpKind::lgamma_:
      return 1.2 * width;
    case OpKind::divide_: case OpKind::sqrt_: case OpKind::rsqrt_: return 0.3 * width;
    case OpKind::gather_: case OpKind::transpose_: return 0.5 * width;
    default: return 0.05 * width;
  }
}

namespace {

double product(std::span<const int64_t> list) { return static_cast<double>(elementCount(list)); }

// Nanoseconds for a step of one element in code without vectors.
constexpr double kScalarStep = 0.06;

// The same of a product or convolution: two multiply-adds of vectors in a cycle, at half that rate.
double productStep(const ir::Module& m, const Op& op, const Machine& machine) {
  constexpr double kPerNanosecond = 3;  // vectors
  int lanes = sumLanes(machine, byteSize(m.shape(op.result()).dtype));
  return 1 / (kPerNanosecond * lanes);
}

// What an op writes: in place, no more than what is new.
const Shape& written(const ir::Module& m, const Op& op, Nest nest) {
  const bool in_place = nest == Nest::update || nest == Nest::region;
  if (op.kind == OpKind::dynamic_update_slice_ && in_place) return m.shape(op.operand(1));
  if (op.kind == OpKind::scatter_) return m.shape(op.operand(2));
  return m.shape(op.result());
}

// Places are worked out one at a time, what lies in a line there is a vector or some.
double scatteredElements(const ir::Module& m, const Op& scatter) {
  constexpr double kPlace = 20, kInLine = 0.6;
  const Shape& updates = m.shape(scatter.operands.back());
  const auto elements = static_cast<double>(updates.elements());
  if (!scattersLines(m, scatter) || elements == 0) return kPlace * elements;
  const auto line = static_cast<size_t>(scatter.ints(ir::AttrKey::update_window_dims).back());
  return elements * (kPlace / static_cast<double>(updates.dims[line]) + kInLine);
}

// All elements of an op, nanoseconds.
double opCost(const ir::Module& m, const Op& op, Nest nest, double step = kScalarStep) {
  if (op.results.empty() || m.type(op.result()).is_token) return 0;
  double elements = static_cast<double>(written(m, op, nest).elements());
  if (op.kind == OpKind::scatter_) elements = scatteredElements(m, op);
  return elements * (elementCost(m, op) + step * stepsPerElement(m, op));
}

// A number that the code knows, as a loop's bounds and steps are where the count is known.
std::optional<double> knownNumber(const ir::Module& m, const Cluster& cluster, ir::Value v) {
  const Op* op = m.def(v);
  bool is_param = std::ranges::find(cluster.numbers, v) != cluster.numbers.end();
  if (!op || op->kind != OpKind::constant_ || is_param || m.shape(v).rank() != 0) return {};
  return op->literal().number(0);
}

// How often the body runs, where the condition is `counter < limit` and the body adds a constant.
std::optional<double> tripCount(const ir::Module& m, const Cluster& cluster, const Op& loop) {
  const auto counting = ir::counting(m, loop);
  if (!counting) return {};
  auto first = knownNumber(m, cluster, counting->first);
  auto limit = knownNumber(m, cluster, counting->limit);
  auto step = knownNumber(m, cluster, counting->step);
  if (!first || !limit || !step || *step <= 0) return {};
  return std::max(0.0, std::ceil((*limit - *first) / *step));
}

// Nanoseconds of a body of small ops that wait for each other; of loops whose count is unknown,
// what makes them worth a thread.
double regionCost(const ir::Module& m, const Cluster& cluster, std::span<const ir::OpId> ops) {
  constexpr double kStep = 0.3, kUnknownLoop = 500e3;
  double cost = 0;
  for (ir::OpId id : ops) {
    const Op& op = m.op(id);
    std::optional<double> trips = 1;
    if (op.kind == OpKind::while_) trips = tripCount(m, cluster, op);
    if (!trips) return kUnknownLoop;
    double inside = 0;
    for (ir::RegionId region : op.regions) inside += regionCost(m, cluster, m.region(region).ops);
    double own = op.kind == OpKind::while_ ? 0 : opCost(m, op, cluster.nest);
    cost += (own > 0 ? std::max(kStep, own) : 0) + *trips * inside;
  }
  return cost;
}

// Of an input that is only sliced, the slices.
double bytesRead(const ir::Module& m, const Cluster& cluster, ir::Value input) {
  const auto whole = static_cast<double>(m.shape(input).bytes());
  double sliced = 0;
  for (ir::OpId id : cluster.ops) {
    const Op& op = m.op(id);
    if (std::ranges::find(op.operands, input) == op.operands.end()) continue;
    if (op.kind != OpKind::slice_ && op.kind != OpKind::dynamic_slice_) return whole;
    sliced += static_cast<double>(m.shape(op.result()).bytes());
  }
  return sliced > 0 ? std::min(sliced, whole) : whole;
}

}  // namespace

double memoryCost(double bytes) {
  constexpr double kL1Bytes = 32e3, kPerNanosecond = 10, kPerNanosecondInL1 = 40;
  return bytes / (bytes <= kL1Bytes ? kPerNanosecondInL1 : kPerNanosecond);
}

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

double clusterCost(const ir::Module& m, const Cluster& cluster, const Machine& machine) {
  if (cluster.nest == Nest::region) return regionCost(m, cluster, cluster.ops);
  double cost = 0, bytes = 0;
  for (ir::OpId id : cluster.ops) {
    const Op& op = m.op(id);
    bool vectors = op.kind == OpKind::dot_general_ || op.kind == OpKind::convolution_;
    cost += opCost(m, op, cluster.nest, vectors ? productStep(m, op, machine) : kScalarStep);
  }
  for (ir::Value v : cluster.inputs) bytes += bytesRead(m, cluster, v);
  for (ir::Value v : cluster.outputs)
    bytes += static_cast<double>(written(m, *m.def(v), cluster.nest).bytes());
  return cost + memoryCost(bytes);
}

}  // namespace tercel::kernel
