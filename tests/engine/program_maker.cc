#include "engine/program_maker.h"

#include <cstring>

namespace tercel::test {

using program::Place;
using program::Step;
using program::StepKind;

uint32_t ProgramMaker::argument(Shape shape, int32_t aliased_result) {
  uint32_t index = static_cast<uint32_t>(program.arguments.size());
  program::Argument argument;
  argument.shape = shape;
  argument.aliased_result = aliased_result;
  program.arguments.push_back(argument);
  return slot(Place::argument, index, 0, shape.bytes());
}

uint32_t ProgramMaker::result(Shape shape) {
  uint32_t index = static_cast<uint32_t>(program.results.size());
  program::ResultInfo result;
  result.shape = shape;
  program.results.push_back(result);
  return slot(Place::result, index, 0, shape.bytes());
}

uint32_t ProgramMaker::arena(int64_t bytes) {
  int64_t offset = program.arena_bytes;
  program.arena_bytes = (offset + bytes + 63) / 64 * 64;
  return slot(Place::arena, 0, offset, bytes);
}

uint32_t ProgramMaker::constant(const void* data, int64_t bytes) {
  size_t offset = (program.constants.size() + 63) / 64 * 64;
  program.constants.resize(offset + static_cast<size_t>(bytes));
  std::memcpy(program.constants.data() + offset, data, static_cast<size_t>(bytes));
  return slot(Place::constant, 0, static_cast<int64_t>(offset), bytes);
}

uint32_t ProgramMaker::slot(Place place, uint32_t index, int64_t offset, int64_t bytes) {
  program.slots.push_back({place, index, offset, bytes});
  return static_cast<uint32_t>(program.slots.size() - 1);
}

uint32_t ProgramMaker::kernel(const std::string& symbol, engine::KernelFn fn,
                              int64_t scratch_bytes) {
  functions[symbol] = fn;
  program.kernels.push_back({symbol, 0, scratch_bytes});
  return static_cast<uint32_t>(program.kernels.size() - 1);
}

uint32_t ProgramMaker::sequence() {
  program.sequences.emplace_back();
  return static_cast<uint32_t>(program.sequences.size() - 1);
}

void ProgramMaker::run(uint32_t sequence, uint32_t kernel, std::vector<uint32_t> slots,
                       int64_t tasks, int64_t grain) {
  Step& made = step(sequence, StepKind::kernel, std::move(slots));
  made.target = kernel;
  made.tasks = tasks;
  made.grain = grain;
}

void ProgramMaker::copy(uint32_t sequence, uint32_t from, uint32_t to) {
  step(sequence, StepKind::copy, {from, to});
}

Step& ProgramMaker::step(uint32_t sequence, StepKind kind, std::vector<uint32_t> slots) {
  Step made;
  made.kind = kind;
  made.slots = std::move(slots);
  program.sequences[sequence].push_back(std::move(made));
  return program.sequences[sequence].back();
}

Result<std::shared_ptr<engine::LoadedProgram>> ProgramMaker::load() const {
  engine::LoadOptions options;
  options.resolve = [this](std::string_view symbol) -> engine::KernelFn {
    auto found = functions.find(symbol);
    return found == functions.end() ? nullptr : found->second;
  };
  return engine::LoadedProgram::load(program, options);
}

Status runOn(const engine::Runner& runner, std::vector<void*> args, std::vector<void*> results,
             engine::ThreadPool* pool, engine::CustomCallHandler* handler) {
  engine::Invocation invocation;
  invocation.args = args.data();
  invocation.results = results.data();
  invocation.use(pool);
  invocation.custom_calls = handler;
  return runner.run(invocation);
}

}  // namespace tercel::test
