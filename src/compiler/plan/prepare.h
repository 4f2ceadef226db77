// What is rewritten for the plan's sake: loops and chains as threads and caches want them.
#pragma once
#include <functional>
#include <string_view>

#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::plan {

// Of a module that has come through the pipeline. `rewritten` is called after each rewriting that
// changed it, with its name.
Status prepare(ir::Module& module, const std::function<void(std::string_view)>& rewritten = {});

}  // namespace tercel::plan
