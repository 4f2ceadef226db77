// Library kernels that few programs need. The plugin and the tools link parts_all.cc; a library
// that tercel.aot saves links runtime/library/parts.cc and what its own program uses.
#pragma once
#include "program/program.h"
#include "runtime/engine/debug_print.h"
#include "runtime/kernels/fft.h"
#include "runtime/kernels/key_sort.h"
#include "runtime/kernels/rescale.h"
#include "runtime/kernels/sort.h"
#include "runtime/linalg/functions.h"

namespace tercel::engine {

struct Parts {
  decltype(&kernels::makeFft<float>) make_fft_f32 = nullptr;
  decltype(&kernels::makeFft<double>) make_fft_f64 = nullptr;
  decltype(&kernels::sort) sort = nullptr;
  decltype(&kernels::keySort) key_sort = nullptr;
  decltype(&linalg::find) find_linalg = nullptr;
  decltype(&linalg::isPreferred) prefers_linalg = nullptr;  // null where there is no LAPACK
  decltype(&debugPrint) debug_print = nullptr;
  decltype(&kernels::rescale) rescale = nullptr;  // null where products may be slow, not allocate
  decltype(&kernels::scaleSums) scale_sums = nullptr;  // where rescale is
};

const Parts& parts();

inline auto makeFftOf(const program::Step& fft) {
  return fft.values[1] == 4 ? parts().make_fft_f32 : parts().make_fft_f64;
}

// UNIMPLEMENTED where the program has a step whose part is not linked.
Status checkParts(const program::Program& program);

}  // namespace tercel::engine
