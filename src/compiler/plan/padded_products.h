// Products whose epilogue stores into the padded array that the next step reads.
#pragma once
#include "compiler/plan/region_uses.h"

namespace tercel::plan {

// A pad of what is made of a product alone, element by element: the product's tiles can be stored
// where they belong in the padded array, with its edges.
bool padsProduct(const ir::Module& module, const RegionUses& uses, const ir::Op& op);

}  // namespace tercel::plan
