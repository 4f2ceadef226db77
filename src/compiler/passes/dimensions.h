// Arithmetic on lists of dimensions that several rules share.
#pragma once
#include <vector>

#include "compiler/ir/module.h"
#include "core/integers.h"
#include "core/shape.h"

namespace tercel::passes {

// The same dimensions without those of size 1.
Dims squeezed(const Dims& dims);
bool hasUnitDims(const Dims& dims);
// The reshape from `a` to `b` only adds and removes dimensions of size 1.
bool differInUnitsOnly(const Dims& a, const Dims& b);

bool isIdentity(const ir::Ints& permutation);
ir::Ints inverse(const ir::Ints& permutation);
bool rises(const ir::Ints& list);  // strictly
ir::Ints range(int64_t size);  // 0, 1, ... size-1

// A reshape cut into the smallest groups of neighbouring dimensions with equal products:
// from[from_begin, from_end) becomes to[to_begin, to_end). No dimension may be 0.
struct ReshapeGroup {
  int64_t from_begin, from_end, to_begin, to_end;
};
std::vector<ReshapeGroup> reshapeGroups(const Dims& from, const Dims& to);

}  // namespace tercel::passes
