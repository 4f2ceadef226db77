#include "program/format.h"

#include <new>

#include "program/file_header.h"
#include "program/file_io.h"
#include "program/validate.h"

namespace tercel::program {
namespace {

constexpr FileKind kProgramFile{"TERCELPG", "program", kFormatVersion};

template <class IO, class StepT>
void transferStep(IO& io, StepT& step) {
  io.number(step.kind);
  io.number(step.target);
  transferNumbers(io, step.slots);
  transferNumbers(io, step.sequences);
  transferNumbers(io, step.values);
  io.number(step.tasks);
  io.number(step.grain);
  io.number(step.cost);
  io.text(step.name);
  io.text(step.text);
}

template <class IO, class ProgramT>
void transferSignature(IO& io, ProgramT& program) {
  io.text(program.name);
  io.number(program.architecture);
  io.text(program.target_cpu);
  io.text(program.target_features);
  io.list(program.arguments, 16, [&](auto& argument) {
    transferShape(io, argument.shape);
    io.flag(argument.is_token);
    io.number(argument.aliased_result);
    io.flag(argument.may_donate);
    io.text(argument.memory_kind);
    transferNumbers(io, argument.layout);
  });
  io.list(program.results, 16, [&](auto& result) {
    transferShape(io, result.shape);
    io.flag(result.is_token);
    io.text(result.memory_kind);
    transferNumbers(io, result.layout);
  });
}

template <class IO, class ProgramT>
void transferProgram(IO& io, ProgramT& program) {
  transferSignature(io, program);
  io.list(program.slots, 21, [&](auto& slot) {
    io.number(slot.place);
    io.number(slot.index);
    io.number(slot.offset);
    io.number(slot.bytes);
  });
  io.list(program.kernels, 20, [&](auto& kernel) {
    io.text(kernel.symbol);
    io.number(kernel.object);
    io.number(kernel.scratch_bytes);
  });
  io.list(program.sequences, 8, [&](auto& sequence) {
    io.list(sequence, 61, [&](auto& step) { transferStep(io, step); });
  });
  io.list(program.objects, 8, [&](auto& object) { io.bytes(object); });
  io.bytes(program.constants);
  io.number(program.shared_bytes);
  io.number(program.arena_bytes);
  io.number(program.turn_bytes);
  io.number(program.cost);
  io.number(program.flops);
  io.number(program.bytes_accessed);
}

}  // namespace

std::vector<std::byte> serialize(const Program& program) {
  Writer writer;
  size_t content = program.constants.size() + 4096;
  for (const auto& object : program.objects) content += object.size();
  writer.out.reserve(content);
  startFile(writer.out);
  transferProgram(writer, program);
  sealFile(writer.out, kProgramFile);
  return std::move(writer.out);
}

bool isProgram(std::span<const std::byte> bytes) { return isFile(bytes, kProgramFile); }

Result<Program> deserialize(std::span<const std::byte> bytes) try {
  TERCEL_ASSIGN(const auto content, openFile(bytes, kProgramFile));
  Program program;
  Reader reader(content);
  transferProgram(reader, program);
  if (reader.failed() || reader.remaining() > 0) {
    return invalidArgument("program file is malformed");
  }
  TERCEL_TRY(validate(program));
  return program;
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory for a program file of ", bytes.size(), " bytes");
}

}  // namespace tercel::program
