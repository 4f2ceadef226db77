#include "compiler/kernel/reducer.h"

#include "compiler/eval/evaluation.h"

namespace tercel::kernel {

bool initIsRepeatable(const ir::Module& m, const ir::Op& reduce) {
  size_t n = reduce.operands.size() / 2;
  std::vector<ir::Literal> init;
  for (size_t k = 0; k < n; ++k) {
    const ir::Op* def = m.def(reduce.operand(n + k));
    if (!def || def->kind != ir::OpKind::constant_) return false;
    init.push_back(def->literal());
  }
  std::vector<ir::Literal> twice = init;
  twice.insert(twice.end(), init.begin(), init.end());
  auto result = eval::Evaluation(m, {}).runRegion(reduce.regions[0], twice);
  return result.ok() && *result == init;
}

}  // namespace tercel::kernel
