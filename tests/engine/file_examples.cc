#include "engine/file_examples.h"

#include <cstring>
#include <memory>

#include "engine/program_maker.h"
#include "program/file_header.h"
#include "program/format.h"

namespace tercel::test {
namespace {

using program::Program, program::Step, program::StepKind;

constexpr size_t kSizeOffset = 16;
constexpr size_t kHashOffset = 24;

void ignore(void* const*, int64_t, int64_t, void*) {}

}  // namespace

Program programOfEverything() {
  ProgramMaker maker;
  Shape vector{DType::f32, {4}}, scalar{DType::s32, {}};
  uint32_t a = maker.argument(vector, 0), n = maker.argument(scalar);
  uint32_t r = maker.result(vector), t = maker.arena(16), pred = maker.arena(1);
  float data[] = {1, 2, 3, 4};
  uint32_t c = maker.constant(data, sizeof(data));
  uint32_t kernel = maker.kernel("kernel_0", ignore, 128);
  uint32_t condition = maker.sequence(), body = maker.sequence();
  uint32_t then = maker.sequence(), otherwise = maker.sequence();
  uint32_t beside = maker.sequence(), besides = maker.sequence();
  maker.run(0, kernel, {a, c, r}, 100, 10);
  maker.copy(0, r, t);
  Step& loop = maker.step(0, StepKind::while_loop, {pred});
  loop.target = condition;
  loop.sequences = {body};
  maker.run(condition, kernel, {pred});
  Step& branch = maker.step(body, StepKind::branch, {n});
  branch.sequences = {then, otherwise};
  branch.values = {4};
  Step& sort = maker.step(then, StepKind::sort, {c, r});
  sort.target = kernel;
  sort.values = {1, 4, 1, 1, 4};
  Step& call = maker.step(otherwise, StepKind::custom_call, {a, r});
  call.values = program::encode({4, {{vector}}, {{vector}}});
  call.name = "lapack_spotrf_ffi";
  call.text = "{uplo = 76 : ui8}";
  maker.step(otherwise, StepKind::fork, {}).sequences = {beside, besides};
  maker.run(besides, kernel, {t});
  maker.program.turn_bytes = 64;
  uint32_t count = maker.slot(program::Place::turn, 0, 8, 4), turn = maker.sequence();
  Step& turns = maker.step(otherwise, StepKind::parallel_loop, {count});
  turns.sequences = {turn};
  turns.values = {1, 2, 4};
  turns.tasks = 5;
  maker.run(turn, kernel, {count});
  uint32_t spectrum = maker.arena(24);
  maker.step(otherwise, StepKind::fft, {c, spectrum}).values = {2, 4, 1, 4};
  Program program = std::move(maker.program);
  program.name = "jit_everything";
  program.architecture = Architecture::aarch64;
  program.target_cpu = "any";
  program.target_features = "-none";
  program.arguments[1].may_donate = true;
  program.results[0].memory_kind = "pinned_host";
  program.results[0].layout = {0};
  program.objects = {{std::byte{1}, std::byte{2}}, {}};
  program.cost = 12.5;
  program.flops = 1e9;
  program.bytes_accessed = 3;
  return program;
}

program::Artifact artifactOfEverything() {
  const Shape vector{DType::f32, {4}};
  auto values = std::make_shared<std::vector<float>>(32, 2.f);
  program::Artifact artifact;
  artifact.name = "net";
  artifact.tree = "{'w': 0}";
  artifact.targets = {"x86-64-v4", "any"};
  artifact.data = {values, std::as_bytes(std::span(*values))};
  artifact.data_bytes = artifact.data.bytes.size();
  artifact.data_hash = program::hashBytes(artifact.data.bytes);
  artifact.globals = {{"params.w", vector, true, true, 0},
                      {"cache", vector, true, false, 0},
                      {"fixed", vector, false, true, 64}};
  artifact.num_threads = 4;
  program::Procedure procedure;
  procedure.name = "step";
  procedure.signature = "batch4";
  procedure.tree = "(0,)";
  procedure.used = {0, 2};
  procedure.stored = {0};
  procedure.arguments = {{"x", vector}};
  procedure.results = {{"loss", {DType::f64, {}}}};
  procedure.module = {std::byte{'M'}, std::byte{'L'}};
  const std::vector<std::byte> code = program::serialize(programOfEverything());
  // Packed as 200 times the same byte: a literal, a copy of 199, five literals at the end.
  const std::byte same{7};
  const program::Packed packed{205, {std::byte{0x1f}, same, std::byte{1}, std::byte{0},
                                     std::byte{180}, std::byte{0x50}, same, same, same, same, same}};
  procedure.codes = {program::stored(code), packed};
  artifact.procedures = {procedure};
  return artifact;
}

std::vector<std::byte> sealed(std::vector<std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return bytes;
  uint64_t size = bytes.size() - kHeaderBytes;
  uint64_t hash = program::hashBytes(std::span(bytes).subspan(kHeaderBytes));
  std::memcpy(bytes.data() + kSizeOffset, &size, sizeof size);
  std::memcpy(bytes.data() + kHashOffset, &hash, sizeof hash);
  return bytes;
}

}  // namespace tercel::test
