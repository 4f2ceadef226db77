// The text form. print(parse(text)) == text for printed text, and parse(print(m)) prints the same.
//
//   module @jit_f {
//     func @main(%0: f32[4,8] {aliasing_output = 0}, %1: f32[]) -> (f32[4,8]) {
//       %2 = broadcast_in_dim(%1) {broadcast_dimensions = []} : f32[4,8]  loc("file.py:3")
//       %3 = add(%0, %2) : f32[4,8]
//       %4, %5 = while(%3, %1) cond(%6: f32[4,8], %7: f32[]) {
//         ...
//         return %9
//       } body(%10: f32[4,8], %11: f32[]) {
//         ...
//         return %12, %13
//       } : f32[4,8], f32[]
//       return %4
//     }
//   }
//
// The module's name may be followed by {num_partitions = 2, num_replicas = 1}; regions are
// introduced by cond body (while), true false (if), branch (case), body (all others). Names that
// are no plain words are quoted: @"jit f". Comments begin with //.
//
// Values are numbered in order of appearance by the printer; a parsed text may use any names, which
// must not hide visible ones. Floats print shortest-round-trip; NaN with its bits (nan:0x7fc00001),
// infinities inf and -inf, complex numbers (1, -0.5).
// Constants: `constant() {value = f32[2,2] (1, 2, 3, 4)}`, splats `f32[2,2] splat(0)`, those of
// more than 64 elements `f32[100] hex("0000803f...")`, in memory's order of bytes.
#pragma once
#include <string>
#include <string_view>

#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::ir {

std::string print(const Module& module, bool with_locations = false);
std::string printOp(const Module& module, OpId op);  // one line, for messages
// Errors: INVALID_ARGUMENT with line and column. Does not verify.
Result<Module> parse(std::string_view text);

}  // namespace tercel::ir
