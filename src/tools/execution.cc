#include "tools/execution.h"

#include <algorithm>
#include <chrono>

#include "compiler/eval/difference.h"
#include "core/layout.h"
#include "runtime/engine/host.h"
#include "runtime/engine/loaded_program.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::tools {
namespace {

program::AlignedBytes copyOf(const ir::Literal& literal) {
  const ir::Literal all = literal.expanded();
  return program::AlignedBytes(all.bytes().begin(), all.bytes().end());
}

}  // namespace

Result<eval::Literals> runNative(program::Program program, const eval::Literals& arguments,
                                 Runs& runs) {
  std::vector<Shape> shapes;
  for (const auto& result : program.results) 
    shapes.push_back(ArrayType(result.shape, result.layout).inMemory());
  TERCEL_ASSIGN(auto loaded, engine::LoadedProgram::load(std::move(program)));
  engine::ThreadPool pool(engine::threadsFor(runs.threads));
  std::vector<program::AlignedBytes> results;
  for (const Shape& shape : shapes) results.emplace_back(shape.bytes());
  for (int64_t i = 0; i < std::max<int64_t>(runs.count, 1); ++i) {
    std::vector<program::AlignedBytes> inputs;
    for (const ir::Literal& argument : arguments) inputs.push_back(copyOf(argument));
    std::vector<void*> args, outs;
    for (auto& input : inputs) args.push_back(input.data());
    for (auto& result : results) outs.push_back(result.data());
    engine::Invocation invocation;
    invocation.args = args.data();
    invocation.results = outs.data();
    invocation.use(&pool);
    auto begin = std::chrono::steady_clock::now();
    TERCEL_TRY(loaded->run(invocation));
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    runs.least = i == 0 ? took.count() : std::min(runs.least, took.count());
  }
  eval::Literals literals;
  for (size_t i = 0; i < results.size(); ++i)
    literals.emplace_back(shapes[i], std::vector<std::byte>(results[i].begin(), results[i].end()));
  return literals;
}

Status compare(const eval::Literals& got, const eval::Literals& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::string wrong = eval::difference(got[i], wanted[i].expanded());
    if (!wrong.empty()) return internalError("result ", i, ": ", wrong);
  }
  return {};
}

}  // namespace tercel::tools
