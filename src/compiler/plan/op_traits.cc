#include "compiler/plan/op_traits.h"

#include <algorithm>

#include "compiler/ir/prefix_scan.h"
#include "compiler/kernel/nest_transpose.h"
#include "compiler/kernel/thin_rows.h"
#include "core/integers.h"

namespace tercel::plan {

using ir::Op;
using ir::OpClass;
using ir::OpKind;

constexpr size_t kMostChoices = 4;  // among operands, at each element

bool isHeavy(OpKind kind) {
  return kind == OpKind::dot_general_ || kind == OpKind::convolution_ ||
         kind == OpKind::reduce_window_;
}

bool rereadsOperands(const ir::Module& m, const Op& op) {
  return isHeavy(op.kind) && !ir::prefixScan(m, op);
}

bool isFreeMovement(OpKind kind) {
  switch (kind) {
    case OpKind::affine_slice_: case OpKind::broadcast_in_dim_: case OpKind::reshape_:
    case OpKind::transpose_: case OpKind::slice_: case OpKind::reverse_: case OpKind::constant_:
    case OpKind::iota_:
      return true;
    default: return false;
  }
}

bool isCallOrControl(const Op& op) {
  switch (op.kind) {
    case OpKind::custom_call_: case OpKind::while_: case OpKind::if_: case OpKind::case_:
    case OpKind::fork_:
      return true;
    default: return false;
  }
}

bool staysAsItIs(const ir::Module& m, ir::RegionId region, ir::Value argument) {
  const ir::Function& main = m.main();
  if (!(region == main.body)) return false;
  const size_t i = m.value(argument).index;
  return i >= main.args.size() || main.args[i].aliasing_output < 0;
}

bool updatesInPlace(OpKind kind) {
  return kind == OpKind::dynamic_update_slice_ || kind == OpKind::scatter_;
}

bool isMemoryConstant(const Op& op) {
  return op.kind == OpKind::constant_ && !op.literal().isSplat();
}

int64_t rowsJoined(const ir::Module& m, const Op& op) {
  const auto along = static_cast<size_t>(op.integer(ir::AttrKey::dimension));
  return elementCount(std::span(m.shape(op.result()).dims).first(along));
}

constexpr int64_t kFewestRows = 64;  // that are joined by a loop over rows

bool joinsOnes(const ir::Module& m, const Op& op) {
  if (op.kind != OpKind::concatenate_) return false;
  const Shape& shape = m.shape(op.result());
  const int64_t rows = rowsJoined(m, op);
  if (rows < kFewestRows || shape.elements() > rows * kernel::kLongestThinRow ||
      isComplex(shape.dtype) || isPred(shape.dtype))
    return false;
  return std::ranges::all_of(op.operands, [&](ir::Value v) {
    if (m.shape(v).elements() == rows) return true;
    const Op* def = m.def(v);
    while (def && def->kind == OpKind::reshape_) def = m.def(def->operand(0));
    return def && joinsOnes(m, *def) && rowsJoined(m, *def) == rows;
  });
}

bool joinsManyOnes(const ir::Module& m, const Op& op) {
  return op.operands.size() > kMostChoices && joinsOnes(m, op);
}

bool joinsManyLines(const ir::Module& m, const Op& op) {
  constexpr int64_t kVectorBytes = 16, kLongLine = 192;  // that a copy is as quick with
  if (op.kind != OpKind::concatenate_ || op.operands.size() <= kMostChoices || joinsOnes(m, op))
    return false;
  const Shape& shape = m.shape(op.result());
  const int64_t rows = rowsJoined(m, op);
  if (rows < kFewestRows || isComplex(shape.dtype) || bitWidth(shape.dtype) < 8 ||
      shape.elements() == 0)
    return false;
  int64_t vectors = 0, shortest = shape.elements();
  for (ir::Value v : op.operands) {
    const int64_t line = m.shape(v).elements() / rows;
    if (line == 0) return false;
    shortest = std::min(shortest, line);
    const int64_t lanes = kernel::lanesOfLine(line, kVectorBytes / byteSize(shape.dtype));
    vectors += ceilDiv(line, lanes);
  }
  return vectors <= kernel::kMostLineVectors && shortest * byteSize(shape.dtype) < kLongLine;
}

bool goesInLines(const ir::Module& m, const Op& op) {
  constexpr double kCheap = 2;
  switch (op.kind) {
    case OpKind::constant_: case OpKind::reshape_: return true;
    case OpKind::broadcast_in_dim_: return m.shape(op.operand(0)).elements() == 1;
    case OpKind::slice_: return op.ints(ir::AttrKey::strides).back() == 1;
    default: return ir::isElementwise(op.kind) && opWeight(m, op) <= kCheap;
  }
}

// How many operands are evaluated where they are taken: more where loops of their own go over them.
size_t mostChoices(const ir::Module& m, const Op& op) {
  constexpr int64_t kLongRun = 1024;
  constexpr size_t kMostLoops = 16;
  const auto along = static_cast<size_t>(op.integer(ir::AttrKey::dimension));
  auto isLong = [&](ir::Value v) {
    return elementCount(std::span(m.shape(v).dims).subspan(along)) >= kLongRun;
  };
  const bool goes_by_loops = rowsJoined(m, op) == 1 && std::ranges::all_of(op.operands, isLong);
  return goes_by_loops ? kMostLoops : kMostChoices;
}

bool isJoinedInMemory(const ir::Module& m, const Op& op) {
  constexpr size_t kAlwaysJoined = 128;
  constexpr int64_t kFewChoices = 10'000;
  if (op.kind != OpKind::concatenate_ || joinsOnes(m, op) || joinsManyLines(m, op)) return false;
  const size_t pieces = op.operands.size();
  if (pieces <= mostChoices(m, op)) return false;
  return pieces > kAlwaysJoined ||
         static_cast<int64_t>(pieces) * m.shape(op.result()).elements() >= kFewChoices;
}

bool isPairsView(const ir::Module& m, const Op& op) {
  return op.kind == OpKind::bitcast_convert_ &&
         isComplex(m.shape(op.operand(0)).dtype) != isComplex(m.shape(op.result()).dtype);
}

bool isView(const ir::Module& m, const Op& op) {
  return op.kind == OpKind::reshape_ || isPairsView(m, op);
}

bool isFusible(const ir::Module& m, const Op& op) {
  if (isJoinedInMemory(m, op) || isPairsView(m, op)) return false;
  switch (op.kind) {
    case OpKind::while_: case OpKind::if_: case OpKind::case_: case OpKind::fork_: case OpKind::sort_:
    case OpKind::fft_: case OpKind::scatter_: case OpKind::select_and_scatter_: case OpKind::custom_call_:
    case OpKind::call_: case OpKind::composite_: case OpKind::after_all_:
    case OpKind::rng_bit_generator_: case OpKind::get_dimension_size_:
      return false;
    case OpKind::optimization_barrier_: return op.results.size() == 1;
    default: break;
  }
  for (ir::Value v : op.results)
    if (m.type(v).is_token) return false;
  return true;
}

bool isDuplicable(const ir::Module&, const Op& op) {
  switch (op.kind) {
    case OpKind::affine_slice_: case OpKind::constant_: case OpKind::iota_:
    case OpKind::broadcast_in_dim_: case OpKind::reshape_: case OpKind::slice_:
    case OpKind::reverse_:
      return true;
    default: return false;
  }
}

double productsOf(const ir::Module& m, const Op& op) {
  return static_cast<double>(m.shape(op.result()).elements()) * kernel::stepsPerElement(m, op);
}

bool isMuchSmaller(const ir::Module& m, ir::Value v, int64_t elements) {
  constexpr int64_t kTimes = 8;
  const Op* from = m.def(v);
  return from && (from->kind == OpKind::constant_ ||
                  (from->kind == OpKind::broadcast_in_dim_ &&
                   m.shape(from->operand(0)).elements() * kTimes <= elements));
}

bool isColumn(const ir::Module& m, const Op& slice) {
  const Dims &dims = m.shape(slice.result()).dims, &from = m.shape(slice.operand(0)).dims;
  return !dims.empty() && dims.back() == 1 && from.back() > 1;
}

bool isCheapOnMany(const ir::Module& m, const Op& op) {
  constexpr int64_t kMany = 4096;
  return ir::isElementwise(op.kind) && op.kind != OpKind::map_ && opWeight(m, op) <= 1 &&
         m.shape(op.result()).elements() >= kMany;
}

bool isSpreadOut(const ir::Module& m, const Op& op) {
  return isCheapOnMany(m, op) && std::ranges::all_of(op.operands, [&](ir::Value v) {
    return isMuchSmaller(m, v, m.shape(op.result()).elements());
  });
}

bool joinsScatter(const ir::Module& m, const Op& op, const Op& scatter) {
  constexpr double kLight = 2;
  constexpr int64_t kShortest = 4;
  if (isFreeMovement(op.kind) || op.kind == OpKind::concatenate_) return true;
  if (!kernel::scattersLines(m, scatter)) return false;
  const auto line = static_cast<size_t>(scatter.ints(ir::AttrKey::update_window_dims).back());
  if (m.shape(scatter.operands.back()).dims[line] < kShortest) return false;
  return op.kind == OpKind::gather_ || op.kind == OpKind::dynamic_slice_ ||
         op.kind == OpKind::pad_ || (ir::isElementwise(op.kind) && opWeight(m, op) <= kLight);
}

double opWeight(const ir::Module& m, const Op& op) {
  double scale = !op.results.empty() && isComplex(m.shape(op.result()).dtype) ? 4 : 1;
  switch (op.kind) {
    case OpKind::affine_slice_: case OpKind::constant_: case OpKind::broadcast_in_dim_:
    case OpKind::reshape_: case OpKind::slice_: case OpKind::transpose_: case OpKind::iota_:
      return 0.5;
    case OpKind::exponential_: case OpKind::log_: case OpKind::logistic_: case OpKind::tanh_:
    case OpKind::erf_: case OpKind::exponential_minus_one_: case OpKind::log_plus_one_:
    case OpKind::cbrt_: case OpKind::atan_: case OpKind::asin_: case OpKind::acos_:
    case OpKind::exp2_:
      return 16 * scale;
    case OpKind::sine_: case OpKind::cosine_: case OpKind::tan_: case OpKind::power_:
    case OpKind::atan2_: case OpKind::remainder_: case OpKind::sinh_: case OpKind::cosh_:
    case OpKind::asinh_: case OpKind::acosh_: case OpKind::atanh_: case OpKind::bessel_i0e_:
    case OpKind::bessel_i1e_: case OpKind::digamma_: case OpKind::erf_inv_: case OpKind::erfc_:
    case OpKind::lgamma_:
      return 28 * scale;
    case OpKind::divide_: case OpKind::sqrt_: case OpKind::rsqrt_:
      return (isInteger(m.shape(op.result()).dtype) ? 8 : 2) * scale;
    case OpKind::pad_: case OpKind::concatenate_: case OpKind::gather_:
    case OpKind::dynamic_slice_: case OpKind::dynamic_update_slice_:
      return 6 * scale;
    case OpKind::dot_general_: case OpKind::convolution_: case OpKind::reduce_window_:
      return 12 * scale;
    case OpKind::reduce_: return 12 * scale;
    default: return scale;
  }
}

bool staysNear(const Dims& dims) { return elementCount(dims) <= (64 << 10); }

double maxLoopWeight(const Dims& dims) {
  return elementCount(dims) >= 256 && staysNear(dims) ? 64 : kMaxClusterWeight;
}

double maxWideLoopWeight(const Dims& dims) { return elementCount(dims) <= 4096 ? 500 : 4000; }

size_t narrowCut(const Dims& dims) { return staysNear(dims) ? 5 : 3; }

bool isFar(const ir::Module& m, const Op& op) {
  constexpr int64_t kFar = 4 << 20;
  return !op.results.empty() && m.shape(op.results[0]).bytes() >= kFar;
}

double allowedRepeats(const ir::Module& m, const Op& op) {
  if (isFreeMovement(op.kind)) return 1e30;
  if (!op.results.empty() && m.shape(op.result()).elements() <= 4) return 1e30;
  double weight = opWeight(m, op);
  return weight <= 1 || (weight <= 2 && isFar(m, op)) ? 16 : weight <= 2 ? 4 : 1.5;
}

}  // namespace tercel::plan
