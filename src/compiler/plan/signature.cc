#include "compiler/plan/signature.h"

#include "core/layout.h"

namespace tercel::plan {
namespace {

Shape shown(const ir::Type& type, const ir::Ints& layout) {
  return {type.shape.dtype, shownOrder(type.shape.dims, layout)};
}

}  // namespace

void describeSignature(const ir::Module& module, program::Program& program) {
  const ir::Function& main = module.main();
  const ir::Region& body = module.region(main.body);
  program.name = module.name;
  for (size_t i = 0; i < body.args.size(); ++i) {
    const ir::Type& type = module.type(body.args[i]);
    const ir::ArgInfo info = i < main.args.size() ? main.args[i] : ir::ArgInfo{};
    program.arguments.push_back({shown(type, info.layout), type.is_token,
                                 static_cast<int32_t>(info.aliasing_output), info.buffer_donor,
                                 info.memory_kind, Dims(info.layout)});
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    const ir::Type& type = module.type(body.results[i]);
    const ir::ResultInfo info = i < main.results.size() ? main.results[i] : ir::ResultInfo{};
    program.results.push_back(
        {shown(type, info.layout), type.is_token, info.memory_kind, Dims(info.layout)});
  }
}

}  // namespace tercel::plan
