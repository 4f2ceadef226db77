// Sums of arrays each of which is +0 around one part: the gradients of dynamic slices.
#pragma once
#include <unordered_map>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

class PlaceSums {
 public:
  // to + added, both read by no one else; invalid where they are no such arrays. `to` may be a sum
  // that this made before.
  ir::Value add(Rewriter& rw, ir::Value to, ir::Value added);

 private:
  // Of n arrays, all that lies outside the first one's part is the sum of some part and +0, never
  // -0. Inside, -0 is right only where all n parts are.
  struct Sum {
    ir::Value unsigned_zeros;  // every part added up where it lies
    ir::Values first;          // where the first part starts
    Dims part;                 // its size
    ir::Values low, high;      // by dimension: where all other parts are; invalid: everywhere
  };

  static bool begin(const Rewriter& rw, ir::Value v, Sum& sum);
  static void narrow(Rewriter& rw, const ir::Op& update, Sum& sum);
  static ir::Value signZeros(Rewriter& rw, const Sum& sum);

  std::unordered_map<uint32_t, Sum> sums_;  // by the value
};

}  // namespace tercel::passes
