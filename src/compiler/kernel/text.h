// The text form of kernels. print(parse(text)) == text for printed text.
//
//   kernel @add(%0, %1) {params = 3, tasks = 64} {
//     #0 = f32 param 0 read_only
//     #1 = f32 param 1 read_only align 4
//     #2 = f32 param 2 alias #0
//     #3 = f32 scratch 0 of 100
//     %2 = constant 16 : i64
//     %3 = for %4 = %0 to %1 step 16 (%5 = %2) {
//       %6 = load #0[%4] : f32x16
//       %7 = load #1[%4 + 16] : f32x16
//       %8 = fadd %6, %7 : f32x16
//       %9 = fcmp olt %6, %8 : i1x16
//       store_masked #2[%4], %8, %9 : f32x16
//       yield %5
//     }
//     %10, %11 = while (%12 = %3, %13 = %2) {
//       ...
//       yield %14
//     } do (%15, %16) {
//       yield %15, %16
//     }
//     if %17 {
//     } else {
//     }
//   }
//
// The type is the result's, or the stored value's. Constants of floats are written as numbers; NaN
// and infinities, which have no number, by their bits: 0x7fc00000. The printer numbers values in
// order of appearance; a parsed text may use any names.
#pragma once
#include <string>
#include <string_view>

#include "compiler/kernel/kernel.h"
#include "core/status.h"

namespace tercel::kernel {

std::string print(const Kernel& kernel);
std::string printInst(const Kernel& kernel, InstId inst);  // one line, for messages
// Errors: INVALID_ARGUMENT with line and column. Does not verify.
Result<Kernel> parse(std::string_view text);

}  // namespace tercel::kernel
