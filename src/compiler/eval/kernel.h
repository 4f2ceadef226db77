// Elementwise ops as functions on arrays.
#pragma once
#include <functional>
#include <span>

#include "compiler/eval/numeric.h"
#include "compiler/ir/module.h"

namespace tercel::eval {

// in[i] and out point to n elements of the operands' and the result's types.
using Kernel = std::function<void(const void* const* in, void* out, int64_t n)>;

// What an elementwise op is applied to; the types may differ from those of `op`'s own operands.
struct KernelRequest {
  const ir::Op& op;
  std::span<const DType> operands;
  DType result;
};

// Null where the op means nothing on these types; select and clamp take operands of equal shapes.
Kernel elementwiseKernel(const KernelRequest& request);

// The parts of it, by file.
Kernel unaryKernel(const KernelRequest& request);
Kernel binaryKernel(const KernelRequest& request);
Kernel compareKernel(const KernelRequest& request);
Kernel selectKernel(const KernelRequest& request);
Kernel clampKernel(const KernelRequest& request);
Kernel multiplyAddKernel(const KernelRequest& request);
Kernel convertKernel(DType from, DType to);
Kernel bitcastKernel(DType from, DType to);  // of equal width
Kernel reducePrecisionKernel(const KernelRequest& request);

template <class In, class Out, class F>
Kernel loop1(F f) {
  return [f](const void* const* in, void* out, int64_t n) {
    auto* x = static_cast<const In*>(in[0]);
    auto* y = static_cast<Out*>(out);
    for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
  };
}

template <class In, class Out, class F>
Kernel loop2(F f) {
  return [f](const void* const* in, void* out, int64_t n) {
    auto* a = static_cast<const In*>(in[0]);
    auto* b = static_cast<const In*>(in[1]);
    auto* y = static_cast<Out*>(out);
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  };
}

}  // namespace tercel::eval
