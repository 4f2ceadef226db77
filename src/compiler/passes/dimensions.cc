#include "compiler/passes/dimensions.h"

#include <algorithm>
#include <numeric>

namespace tercel::passes {
using ir::Ints;

Dims squeezed(const Dims& dims) {
  Dims rest;
  for (int64_t d : dims)
    if (d != 1) rest.push_back(d);
  return rest;
}

bool hasUnitDims(const Dims& dims) { return std::ranges::find(dims, 1) != dims.end(); }

bool differInUnitsOnly(const Dims& a, const Dims& b) { return squeezed(a) == squeezed(b); }

bool isIdentity(const Ints& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  return true;
}

Ints inverse(const Ints& permutation) {
  Ints result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = i;
  return result;
}

bool rises(const Ints& list) {
  for (size_t i = 1; i < list.size(); ++i)
    if (list[i] <= list[i - 1]) return false;
  return true;
}

Ints range(int64_t size) {
  Ints list(size);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

std::vector<ReshapeGroup> reshapeGroups(const Dims& from, const Dims& to) {
  std::vector<ReshapeGroup> groups;
  int64_t i = 0, j = 0;
  int64_t from_rank = static_cast<int64_t>(from.size()), to_rank = static_cast<int64_t>(to.size());
  while (i < from_rank || j < to_rank) {
    ReshapeGroup group{i, i, j, j};
    int64_t a = i < from_rank ? from[i++] : 1;
    int64_t b = j < to_rank ? to[j++] : 1;
    while (a != b) {
      if (a < b)
        a *= from[i++];
      else
        b *= to[j++];
    }
    // Units at the end belong to the last group.
    if (i == from_rank || j == to_rank) {
      while (i < from_rank && from[i] == 1) ++i;
      while (j < to_rank && to[j] == 1) ++j;
    }
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace tercel::passes
