#include "runtime/engine/parts.h"

namespace tercel::engine {

Status checkParts(const program::Program& program) {
  for (const program::Sequence& sequence : program.sequences) {
    for (const program::Step& step : sequence) {
      const bool lacks_fft = step.kind == program::StepKind::fft && !makeFftOf(step);
      const bool lacks_sort = step.kind == program::StepKind::sort && !parts().sort;
      if (!lacks_fft && !lacks_sort) continue;
      return unimplemented(step.name, " needs a part of Tercel that this library was saved without");
    }
  }
  return Status();
}

}  // namespace tercel::engine
