// The table of op evaluations: elementwise ops by class, all others by row.
#include <array>

#include "compiler/eval/contraction.h"
#include "compiler/eval/control.h"
#include "compiler/eval/elementwise.h"
#include "compiler/eval/indexing.h"
#include "compiler/eval/movement.h"
#include "compiler/eval/numeric_ops.h"
#include "compiler/eval/random.h"
#include "compiler/eval/reduction.h"
#include "compiler/eval/sort.h"

namespace tercel::eval {
namespace {

constexpr std::pair<OpKind, OpEval> kRows[] = {
    {OpKind::after_all_, evalAfterAll},
    {OpKind::batch_norm_grad_, evalBatchNorm},
    {OpKind::batch_norm_inference_, evalBatchNorm},
    {OpKind::batch_norm_training_, evalBatchNorm},
    {OpKind::bitcast_convert_, evalBitcastConvert},
    {OpKind::broadcast_in_dim_, evalBroadcastInDim},
    {OpKind::call_, evalCall},
    {OpKind::case_, evalCase},
    {OpKind::cholesky_, evalCholesky},
    {OpKind::composite_, evalComposite},
    {OpKind::concatenate_, evalConcatenate},
    {OpKind::constant_, evalConstant},
    {OpKind::convolution_, evalConvolution},
    {OpKind::custom_call_, evalCustomCall},
    {OpKind::dot_general_, evalDotGeneral},
    {OpKind::dynamic_slice_, evalDynamicSlice},
    {OpKind::dynamic_update_slice_, evalDynamicUpdateSlice},
    {OpKind::fft_, evalFft},
    {OpKind::fork_, evalFork},
    {OpKind::gather_, evalGather},
    {OpKind::get_dimension_size_, evalGetDimensionSize},
    {OpKind::if_, evalIf},
    {OpKind::iota_, evalIota},
    {OpKind::map_, evalMap},
    {OpKind::optimization_barrier_, evalIdentity},
    {OpKind::pad_, evalPad},
    {OpKind::reduce_, evalReduce},
    {OpKind::reduce_window_, evalReduceWindow},
    {OpKind::reshape_, evalReshape},
    {OpKind::affine_slice_, evalAffineSlice},
    {OpKind::reverse_, evalReverse},
    {OpKind::rng_bit_generator_, evalRngBitGenerator},
    {OpKind::scatter_, evalScatter},
    {OpKind::select_and_scatter_, evalSelectAndScatter},
    {OpKind::slice_, evalSlice},
    {OpKind::sort_, evalSort},
    {OpKind::transpose_, evalTranspose},
    {OpKind::triangular_solve_, evalTriangularSolve},
    {OpKind::while_, evalWhile},
};

constexpr auto kEvalOf = [] {
  std::array<OpEval, 256> table{};
  for (const auto& [kind, eval] : kRows) table[static_cast<size_t>(kind)] = eval;
  return table;
}();

}  // namespace

OpEval evaluationOf(OpKind kind) {
  OpEval eval = kEvalOf[static_cast<size_t>(kind)];
  return eval || !ir::isElementwise(kind) ? eval : evalElementwise;
}

}  // namespace tercel::eval
