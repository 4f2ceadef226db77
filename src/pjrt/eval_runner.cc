#include "pjrt/eval_runner.h"

#include <algorithm>
#include <cstring>

#include "compiler/eval/difference.h"
#include "compiler/eval/evaluator.h"
#include "compiler/ir/custom_call.h"
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

// Runs a custom call on literals as native code does on its memory.
class LiteralCall {
 public:
  LiteralCall(const ir::Module& module, const engine::Invocation& invocation)
      : module_(module), invocation_(invocation) {}

  Result<eval::Literals> operator()(const ir::Op& op, eval::Operands operands) const {
    if (!invocation_.custom_calls) return unimplemented("nothing here can run custom calls");
    program::CallSignature signature{op.integer(ir::AttrKey::api_version), {}, {}};
    for (const ir::Type& type :
         ir::shownTypes(module_, op, op.operands, ir::AttrKey::operand_layouts))
      signature.operands.push_back({type.shape, type.is_token});
    for (const ir::Type& type :
         ir::shownTypes(module_, op, op.results, ir::AttrKey::result_layouts))
      signature.results.push_back({type.shape, type.is_token});
    std::vector<ir::Literal> inputs;
    for (const ir::Literal& operand : operands) inputs.push_back(operand.expanded());
    std::vector<std::vector<std::byte>> outputs;
    for (const auto& result : signature.results)
      outputs.emplace_back(static_cast<size_t>(result.bytes()));
    TERCEL_TRY(run(op, signature, inputs, outputs));
    eval::Literals results;
    for (size_t i = 0; i < outputs.size(); ++i)
      results.emplace_back(module_.shape(op.result(i)), std::move(outputs[i]));
    return results;
  }

 private:
  Status run(const ir::Op& op, const program::CallSignature& signature,
             const std::vector<ir::Literal>& inputs,
             std::vector<std::vector<std::byte>>& outputs) const {
    std::vector<void*> in, out;
    std::vector<int64_t> in_bytes, out_bytes;
    for (const ir::Literal& input : inputs) {
      in.push_back(const_cast<std::byte*>(input.bytes().data()));
      in_bytes.push_back(static_cast<int64_t>(input.bytes().size()));
    }
    for (auto& output : outputs) {
      out.push_back(output.data());
      out_bytes.push_back(static_cast<int64_t>(output.size()));
    }
    const ir::Ints& aliases = op.ints(ir::AttrKey::output_operand_aliases);
    for (size_t i = 0; i + 1 < aliases.size(); i += 2) {
      const auto result = static_cast<size_t>(aliases[i]);
      const auto operand = static_cast<size_t>(aliases[i + 1]);
      std::ranges::copy(inputs[operand].bytes(), outputs[result].begin());
      in[operand] = out[result];
    }
    const std::string& target = op.symbol(ir::AttrKey::call_target_name);
    engine::CustomCall call{target, op.symbol(ir::AttrKey::backend_config), &op, &signature};
    call.operands = in, call.results = out;
    call.operand_bytes = in_bytes, call.result_bytes = out_bytes;
    call.run = &invocation_.info;
    call.pool = invocation_.pool;
    call.may_block = invocation_.may_block;
    return invocation_.custom_calls->call(call).within(cat("custom call ", target));
  }

  const ir::Module& module_;
  const engine::Invocation& invocation_;
};

Result<eval::Literals> evaluateMain(const ir::Module& module, const eval::Literals& args,
                                    const engine::Invocation& invocation) {
  eval::EvalOptions options;
  options.custom_call = LiteralCall(module, invocation);
  return eval::evaluate(module, module.main(), args, options);
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
                  evaluateMain(module_, argumentsOf(module_, invocation), invocation));
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
    TERCEL_ASSIGN(const eval::Literals wanted, evaluateMain(module_, args, invocation));
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
