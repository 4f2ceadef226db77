#include "pjrt/eval_runner.h"

#include <cstring>

#include "compiler/eval/evaluator.h"

namespace tercel::pjrt {
namespace {

class EvalRunner : public engine::Runner {
 public:
  explicit EvalRunner(ir::Module module) : module_(std::move(module)) {}

  Status run(const engine::Invocation& invocation) const override try {
    return evaluate(invocation);
  } catch (const std::bad_alloc&) {
    return Status(Code::resource_exhausted, "out of memory");
  } catch (const CheckFailure& failure) {
    return internalError(failure.message);
  }

 private:
  Status evaluate(const engine::Invocation& invocation) const {
    const ir::Function& main = module_.main();
    const ir::Region& body = module_.region(main.body);
    eval::Literals args;
    for (size_t i = 0; i < body.args.size(); ++i) {
      const Shape& shape = module_.shape(body.args[i]);
      const auto* data = static_cast<const std::byte*>(invocation.args[i]);
      args.emplace_back(shape, std::vector<std::byte>(data, data + shape.bytes()));
    }
    TERCEL_ASSIGN(const eval::Literals results, eval::evaluate(module_, main, args));
    for (size_t i = 0; i < results.size(); ++i) {
      const ir::Literal all = results[i].expanded();
      if (!all.bytes().empty()) {
        std::memcpy(invocation.results[i], all.bytes().data(), all.bytes().size());
      }
    }
    return {};
  }

  const ir::Module module_;
};

}  // namespace

program::Program signatureOf(const ir::Module& module) {
  program::Program program;
  program.name = module.name;
  const ir::Function& main = module.main();
  const ir::Region& body = module.region(main.body);
  for (size_t i = 0; i < body.args.size(); ++i) {
    const ir::Type& type = module.type(body.args[i]);
    const ir::ArgInfo& info = main.args[i];
    program.arguments.push_back({type.shape, type.is_token,
                                 static_cast<int32_t>(info.aliasing_output), info.buffer_donor,
                                 info.memory_kind});
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    const ir::Type& type = module.type(body.results[i]);
    program.results.push_back({type.shape, type.is_token, main.results[i].memory_kind});
  }
  program.sequences.emplace_back();
  return program;
}

std::shared_ptr<engine::Runner> makeEvalRunner(ir::Module module) {
  return std::make_shared<EvalRunner>(std::move(module));
}

}  // namespace tercel::pjrt
