#include "runtime/kernels/isa.h"

#include <algorithm>

namespace tercel::kernels {
namespace {

Isa bestLinked() {
  Isa isa = TERCEL_BEST_ISA(__builtin_cpu_supports);
  while (isa != Isa::baseline && !isLinked(isa)) isa = static_cast<Isa>(static_cast<int>(isa) - 1);
  return isa;
}

constinit thread_local Isa limit = Isa::avx512;

bool isListed(std::string_view features, std::string_view feature) {
  for (size_t at = 0; (at = features.find(feature, at)) != features.npos; ++at) {
    const size_t end = at + feature.size();
    const bool is_whole = end == features.size() || features[end] == ',';
    if (is_whole && at > 0 && features[at - 1] == '+') return true;
  }
  return false;
}

}  // namespace

Isa isaOfThisMachine() {
  static const Isa isa = bestLinked();
  return isa;
}

Isa isaOf(std::string_view features) {
  auto has = [&](const char* name) { return isListed(features, name); };
  return TERCEL_BEST_ISA(has);
}

IsaScope::IsaScope(Isa isa) : before_(limit) { limit = isa; }
IsaScope::~IsaScope() { limit = before_; }

Isa chosenIsa() { return std::min(limit, isaOfThisMachine()); }

}  // namespace tercel::kernels
