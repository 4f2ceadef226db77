// The one transposed operand of a cluster: all that is made of it has its elements in their order.
#pragma once
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

struct TurnedInput {
  ir::Value transpose;  // invalid: there is none, or several
  // What is turned: the input where nothing but element work on it alone lies before the transpose,
  // which may as well be done after; else the transpose.
  ir::Value source;
  // What an element of the source stands for once it is turned: the source, or the transpose where
  // the input is read besides.
  ir::Value turned;

  std::vector<ir::OpId> path;  // from the transpose to the source, its users

  // Where the element of the source is that the transpose has at `indices`.
  Indices sourceIndices(const ir::Module& module, IndexSpace& space, Indices indices) const;
};
// late: element work is done after, though the source has more bytes than the transpose, or meets
// what a broadcast repeats.
TurnedInput findTurned(const Lowering& low, bool late = false);

}  // namespace tercel::kernel
