#include "compiler/plan/work.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/parallel_loop.h"
#include "compiler/ir/prefix_scan.h"
#include "compiler/kernel/nest.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpKind;

double elementsOf(const ir::Module& m, ir::Value v) {
  return static_cast<double>(m.shape(v).elements());
}

// Of one element, in operations on real numbers.
double arithmetic(OpKind kind, bool complex) {
  switch (kind) {
    case OpKind::add_: case OpKind::subtract_: case OpKind::negate_: return complex ? 2 : 1;
    case OpKind::multiply_: return complex ? 6 : 1;
    case OpKind::divide_: return complex ? 11 : 1;
    case OpKind::multiply_add_: return 2;
    case OpKind::abs_: case OpKind::maximum_: case OpKind::minimum_: case OpKind::clamp_:
    case OpKind::floor_: case OpKind::ceil_: case OpKind::round_nearest_even_:
    case OpKind::round_nearest_afz_: case OpKind::sign_: case OpKind::sqrt_: case OpKind::rsqrt_:
    case OpKind::remainder_:
      return 1;
    default: return 0;
  }
}

class Flops {
 public:
  explicit Flops(const ir::Module& m) : m_(m) {}

  double of(ir::RegionId region) const {
    double sum = 0;
    for (ir::OpId id : m_.region(region).ops) sum += of(m_.op(id));
    return sum;
  }

 private:
  double of(const Op& op) const {
    switch (op.kind) {
      case OpKind::while_: {
        const auto counted = ir::countedLoop(m_, op);
        const double turns = counted ? static_cast<double>(counted->turns) : 1;
        return turns * (of(op.regions[0]) + of(op.regions[1]));
      }
      case OpKind::if_: case OpKind::case_: {
        double most = 0;
        for (ir::RegionId region : op.regions) most = std::max(most, of(region));
        return most;
      }
      case OpKind::fork_: {
        double sum = 0;
        for (ir::RegionId region : op.regions) sum += of(region);
        return sum;
      }
      case OpKind::map_: return elementsOf(m_, op.result()) * of(op.regions[0]);
      case OpKind::reduce_:
        return (elementsOf(m_, op.operand(0)) - elementsOf(m_, op.results[0])) * of(op.regions[0]);
      case OpKind::reduce_window_: {
        const double steps = ir::prefixScan(m_, op) ? 2 : kernel::stepsPerElement(m_, op);
        return count(op) * (steps - 1) * of(op.regions[0]);
      }
      case OpKind::scatter_: return elementsOf(m_, op.operands.back()) * of(op.regions[0]);
      case OpKind::dot_general_: case OpKind::convolution_:
        return counts(op) ? (isComplexOp(op) ? 8 : 2) * productsOf(m_, op) : 0;
      case OpKind::fft_: {
        double length = 1;
        for (int64_t n : op.ints(ir::AttrKey::fft_length)) length *= static_cast<double>(n);
        const double all = std::max(elementsOf(m_, op.operand(0)), count(op));
        return length > 1 ? 5 * all * std::log2(length) : 0;
      }
      default:
        return counts(op) ? count(op) * arithmetic(op.kind, isComplexOp(op)) : 0;
    }
  }

  double count(const Op& op) const { return elementsOf(m_, op.results[0]); }
  bool isComplexOp(const Op& op) const { return isComplex(m_.shape(op.results[0]).dtype); }
  bool counts(const Op& op) const {
    if (op.results.empty() || m_.type(op.results[0]).is_token) return false;
    const DType dtype = m_.shape(op.results[0]).dtype;
    return isFloat(dtype) || isComplex(dtype);
  }

  const ir::Module& m_;
};

double bytesOf(const program::Program& program) {
  double bytes = 0;
  for (const program::Sequence& sequence : program.sequences)
    for (const program::Step& step : sequence)
      for (uint32_t slot : step.slots) bytes += static_cast<double>(program.slots[slot].bytes);
  return bytes;
}

}  // namespace

void estimateWork(const ir::Module& module, program::Program& program) {
  program.flops = Flops(module).of(module.main().body);
  program.bytes_accessed = bytesOf(program);
}

}  // namespace tercel::plan
