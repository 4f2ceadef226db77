// The functions of LAPACK that JAX's programs call on CPUs, without LAPACK: for programs that run
// where there is none; and those that jaxlib itself has. Operands, results and what they are named
// are those of jaxlib's handlers.
#pragma once
#include <span>
#include <string_view>

#include "core/status.h"
#include "program/call_signature.h"
#include "runtime/kernels/parallel.h"

namespace tercel::linalg {

// LAPACK's matrices lie in column-major order; leading dimensions of operands and results are a
// batch. A result is an operand's memory or shares none with them.
struct Call {
  std::string_view attributes;  // as {uplo = 76 : u8}
  const program::CallSignature* signature = nullptr;
  std::span<void* const> operands;
  std::span<void* const> results;
  kernels::Parallel parallel;
};

// Never throws.
using Function = Status (*)(const Call& call);

// Null where the target is no function of this folder.
Function find(std::string_view target);

// Whether the plugin calls the target's function where it has LAPACK's, too.
bool isPreferred(std::string_view target);

// Each for float, double, std::complex<float> and std::complex<double>.
#define LINALG(function, real_name, complex_name) \
  template <class T>                              \
  Status function(const Call& call);
#define LINALG_OF_ANY_TYPE(function, target) Status function(const Call& call);
#include "runtime/linalg/functions.def"

}  // namespace tercel::linalg
