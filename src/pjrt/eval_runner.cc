#include "pjrt/eval_runner.h"

#include <cstring>

#include "compiler/eval/difference.h"
#include "compiler/eval/evaluator.h"
#include "runtime/engine/loaded_program.h"

namespace tercel::pjrt {
namespace {

ir::Literal literalOf(const Shape& shape, const void* memory) {
  const auto* data = static_cast<const std::byte*>(memory);
  return ir::Literal(shape, std::vector<std::byte>(data, data + shape.bytes()));
}

eval::Literals argumentsOf(const ir::Module& module, const engine::Invocation& invocation) {
  eval::Literals args;
  for (const ir::Value v : module.region(module.main().body).args)
    args.push_back(literalOf(module.shape(v), invocation.args[args.size()]));
  return args;
}

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
    TERCEL_ASSIGN(const eval::Literals results,
                  eval::evaluate(module_, module_.main(), argumentsOf(module_, invocation)));
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

class CheckRunner : public engine::Runner {
 public:
  CheckRunner(ir::Module module, std::shared_ptr<engine::LoadedProgram> native)
      : module_(std::move(module)), native_(std::move(native)) {}

  Status run(const engine::Invocation& invocation) const override try {
    // Before the run: it overwrites the arguments that share a result's memory.
    const eval::Literals args = argumentsOf(module_, invocation);
    TERCEL_TRY(native_->run(invocation));
    TERCEL_ASSIGN(const eval::Literals wanted, eval::evaluate(module_, module_.main(), args));
    for (size_t i = 0; i < wanted.size(); ++i) {
      const ir::Literal got = literalOf(wanted[i].shape(), invocation.results[i]);
      const std::string wrong = eval::difference(got, wanted[i].expanded());
      if (!wrong.empty())
        return internalError("TERCEL_CHECK: ", module_.name, ", result ", i, ": ", wrong);
    }
    return {};
  } catch (const std::bad_alloc&) {
    return Status(Code::resource_exhausted, "out of memory");
  } catch (const CheckFailure& failure) {
    return internalError(failure.message);
  }

  int64_t codeBytes() const override { return native_->codeBytes(); }

 private:
  const ir::Module module_;
  const std::shared_ptr<engine::LoadedProgram> native_;
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

Result<std::shared_ptr<engine::Runner>> makeCheckRunner(ir::Module module,
                                                        program::Program program) {
  TERCEL_ASSIGN(auto native, engine::LoadedProgram::load(std::move(program)));
  return std::shared_ptr<engine::Runner>(
      std::make_shared<CheckRunner>(std::move(module), std::move(native)));
}

}  // namespace tercel::pjrt
