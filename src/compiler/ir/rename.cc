#include "compiler/ir/rename.h"

namespace tercel::ir {
namespace {

void rename(Values& values, const Renamed& renamed) {
  for (Value& v : values)
    for (auto at = renamed.find(v.index); at != renamed.end(); at = renamed.find(v.index))
      v = at->second;
}

}  // namespace

void rename(Module& m, RegionId id, const Renamed& renamed) {
  Region& region = m.region(id);
  for (OpId o : region.ops) {
    rename(m.op(o).operands, renamed);
    for (RegionId inner : m.op(o).regions) rename(m, inner, renamed);
  }
  rename(region.results, renamed);
}

}  // namespace tercel::ir
