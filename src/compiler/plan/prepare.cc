#include "compiler/plan/prepare.h"

#include "compiler/passes/pipeline.h"
#include "compiler/plan/fork_rows.h"
#include "compiler/plan/slice_loops.h"
#include "compiler/plan/tile_loops.h"

namespace tercel::plan {

Status prepare(ir::Module& module, const std::function<void(std::string_view)>& rewritten) {
  auto note = [&](std::string_view name) {
    if (rewritten) rewritten(name);
  };
  if (sliceLoops(module)) note("slice_loops");
  if (forkRows(module)) note("fork_rows");
  if (loopOverTiles(module)) {
    TERCEL_TRY(passes::runPass("dce", module, {}));  // of what tiles are made of in their place
    note("tile_loops");
  }
  return {};
}

}  // namespace tercel::plan
