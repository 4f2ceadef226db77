// Fourier transforms as steps.
#include "compiler/plan/planner.h"

namespace tercel::plan {

using ir::AttrKey;

Status Planner::planFft(Scope& scope, const ir::Op& op) {
  constexpr std::string_view kKinds[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  const ir::Value operand = op.operand(0), result = op.result();
  const StorageId from = storageOf(operand);
  const StorageId to =
      place(scope, result, clusterOf(m_, scope.units[scope.unit].op, kernel::Nest::update));
  if (m_.shape(result).elements() == 0) return Status();
  const ir::Ints& lengths = op.ints(AttrKey::fft_length);
  const Dims& dims = m_.shape(result).dims;
  program::Step& step = addStep(scope, program::StepKind::fft);
  step.name = "fft";
  const auto kind = std::ranges::find(kKinds, op.symbol(AttrKey::fft_type)) - kKinds;
  step.values = {kind, static_cast<int64_t>(byteSize(realPart(m_.shape(result).dtype))),
                 elementCount(std::span(dims).first(dims.size() - lengths.size()))};
  step.values.insert(step.values.end(), lengths.begin(), lengths.end());
  step.slots = {slot(from), slot(to)};
  return Status();
}

}  // namespace tercel::plan
