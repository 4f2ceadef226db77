#include "runtime/kernels/isa.h"

namespace tercel::kernels {
namespace {

Isa detected() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::baseline;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
             ? Isa::avx512
             : Isa::avx2;
}

}  // namespace

Isa isaOfThisMachine() {
  static const Isa isa = detected();
  return isa;
}

}  // namespace tercel::kernels
