#include "fuzz/targets.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "compiler/ir/layout_modes.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/kernel/cluster.h"
#include "compiler/kernel/text.h"
#include "compiler/kernel/verifier.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/prepare.h"
#include "compiler/stablehlo/reader.h"
#include "engine/file_examples.h"
#include "fuzz/text_examples.h"
#include "program/artifact.h"
#include "program/format.h"

namespace tercel::test {
namespace {

using Examples = std::vector<std::string>;
using Path = std::filesystem::path;

constexpr size_t kMaxArtifactBytes = 4096;  // larger ones are changed too slowly
constexpr int64_t kMaxModuleBytes = 1 << 20;  // of all values of a module that is compiled

void require(bool holds, std::string why) {
  if (!holds) throw Finding{std::move(why)};
}

// A refusal has a message, and a code that blames who wrote the input.
void requireOrderly(const Status& status, std::initializer_list<Code> codes) {
  require(!status.message().empty(), "an error without a message");
  require(std::find(codes.begin(), codes.end(), status.code()) != codes.end(),
          cat("a wrong code: ", status.message()));
}

// A copy that is no longer than it must be: reads past its end are seen.
std::vector<std::byte> exactly(const std::string& input) {
  auto bytes = std::as_bytes(std::span(input));
  return {bytes.begin(), bytes.end()};
}

std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void requireTextReturns(const ir::Module& module) {
  const std::string text = ir::print(module);
  Result<ir::Module> again = ir::parse(text);
  require(again.ok(), cat("its text does not parse: ", again.status().message()));
  require(ir::print(*again) == text, "its text does not print the same again");
}

Examples artifactsOf(const Path& folder) {
  std::vector<Path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".bc" && entry.file_size() <= kMaxArtifactBytes)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Examples inputs;
  for (const Path& path : paths) inputs.push_back(loadFile(path));
  return inputs;
}

void readArtifact(const std::string& input) {
  Result<ir::Module> module = stablehlo::readStablehlo(exactly(input));
  if (!module.ok())
    return requireOrderly(module.status(), {Code::invalid_argument, Code::unimplemented,
                                            Code::resource_exhausted, Code::failed_precondition});
  if (ir::applyLayoutModes(*module).ok() && ir::verify(*module).ok()) requireTextReturns(*module);
}

Examples modulesOf(const Path& folder) {
  Examples texts = textExamples();
  for (const std::string& artifact : artifactsOf(folder)) {
    Result<ir::Module> module = stablehlo::readStablehlo(exactly(artifact));
    if (module.ok()) texts.push_back(ir::print(*module));
  }
  return texts;
}

// As the compiler reads text, to a module that is valid.
Result<ir::Module> validModule(const std::string& input) {
  TERCEL_ASSIGN(ir::Module module, ir::parse(input));
  TERCEL_TRY(ir::applyLayoutModes(module));
  TERCEL_TRY(ir::verify(module));
  return module;
}

void readText(const std::string& input) {
  Result<ir::Module> module = validModule(input);
  if (module.ok()) return requireTextReturns(*module);
  requireOrderly(module.status(),
                 {Code::invalid_argument, Code::unimplemented, Code::resource_exhausted});
}

void readKernel(const std::string& input) {
  Result<kernel::Kernel> kernel = kernel::parse(input);
  if (!kernel.ok()) return requireOrderly(kernel.status(), {Code::invalid_argument});
  if (!kernel::verify(*kernel).ok()) return;
  const std::string text = kernel::print(*kernel);
  Result<kernel::Kernel> again = kernel::parse(text);
  require(again.ok(), cat("its text does not parse: ", again.status().message()));
  require(kernel::print(*again) == text, "its text does not print the same again");
}

bool isSmall(const ir::Module& module) {
  int64_t bytes = 0;
  for (uint32_t v = 0; v < module.valueCount(); ++v) {
    bytes += module.shape(ir::Value{v}).bytes();
    if (bytes > kMaxModuleBytes) return false;
  }
  return true;
}

// All that the compiler does but for LLVM.
Status lowerModule(ir::Module& module) {
  TERCEL_TRY(passes::runPipeline(module, {.verify = true}));
  TERCEL_TRY(plan::prepare(module));
  TERCEL_ASSIGN(const plan::Plan plan, plan::makePlan(module));
  for (const kernel::Cluster& cluster : plan.clusters) {
    TERCEL_ASSIGN(const kernel::Kernel kernel, kernel::lower(module, cluster, {}));
    TERCEL_TRY(kernel::verify(kernel));
  }
  return {};
}

void compileText(const std::string& input) {
  Result<ir::Module> module = validModule(input);
  if (!module.ok() || !isSmall(*module)) return;
  if (Status status = lowerModule(*module); !status.ok())
    requireOrderly(status, {Code::invalid_argument, Code::unimplemented,
                            Code::resource_exhausted});
}

Examples programs(const Path&) { return {textOf(program::serialize(programOfEverything()))}; }

void readProgram(const std::string& input) {
  Result<program::Program> read = program::deserialize(sealed(exactly(input)));
  if (!read.ok())
    return requireOrderly(read.status(), {Code::invalid_argument, Code::data_loss});
  Result<program::Program> again = program::deserialize(program::serialize(*read));
  require(again.ok(), cat("what was read cannot be written: ", again.status().message()));
}

Examples savedArtifacts(const Path&) {
  return {textOf(program::serializeArtifact(artifactOfEverything()))};
}

void readSavedArtifact(const std::string& input) {
  const std::vector<std::byte> file = sealed(exactly(input));
  Result<program::Artifact> read = program::deserializeArtifact({nullptr, file});
  if (!read.ok())
    return requireOrderly(read.status(), {Code::invalid_argument, Code::data_loss});
  require(program::validateArtifact(*read).ok(), "what was read is not valid");
  if (read->has_side_file || !program::checkData(*read).ok()) return;
  for (const program::Procedure& procedure : read->procedures) {
    for (const program::Packed& code : procedure.codes) {
      Result<std::vector<std::byte>> file = program::unpack(code);
      require(!file.ok() || file->size() == code.size, "unpacked to another size");
    }
  }
  const std::vector<std::byte> written = program::serializeArtifact(*read);
  Result<program::Artifact> again = program::deserializeArtifact({nullptr, written});
  require(again.ok(), cat("what was read cannot be written: ", again.status().message()));
}

constexpr Target kTargets[] = {
    {"stablehlo", false, artifactsOf, readArtifact},
    {"text", true, modulesOf, readText},
    {"compile", true, modulesOf, compileText},
    {"kernel", true, kernelsOf, readKernel},
    {"program", false, programs, readProgram},
    {"artifact", false, savedArtifacts, readSavedArtifact},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* findTarget(std::string_view name) {
  const auto* found = std::ranges::find(kTargets, name, &Target::name);
  return found == std::end(kTargets) ? nullptr : found;
}

std::string loadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), cat("cannot read ", path.string()));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tercel::test
