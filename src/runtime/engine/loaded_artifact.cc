#include "runtime/engine/loaded_artifact.h"

#include <algorithm>

#include "core/layout.h"
#include "program/files.h"
#include "program/format.h"
#include "runtime/engine/host.h"

namespace tercel::engine {
namespace {

int64_t roundUp(int64_t bytes) {
  return static_cast<int64_t>(program::alignedSize(static_cast<size_t>(bytes)));
}

Status checkShapes(const std::string& name, const Shape& wanted, const Shape& got) {
  if (wanted == got) return Status();
  return invalidArgument(name, " is ", toString(wanted), " in the artifact and ", toString(got),
                         " in its code");
}

Result<program::Program> programOf(const program::Packed& code) {
  TERCEL_ASSIGN(const std::vector<std::byte> file, program::unpack(code));
  return program::deserialize(file);
}

}  // namespace

Result<std::shared_ptr<const LoadedArtifact>> LoadedArtifact::load(
    program::HeldBytes file, const std::string& weights_path) try {
  auto loaded = std::make_shared<LoadedArtifact>();
  if (program::isArtifact(file.bytes)) {
    TERCEL_ASSIGN(loaded->artifact_, program::deserializeArtifact(std::move(file)));
    TERCEL_TRY(readWeights(loaded->artifact_, weights_path));
    TERCEL_TRY(loaded->loadCode());
  } else {
    TERCEL_TRY(loaded->wrapProgram(std::move(file)));
  }
  for (program::Procedure& procedure : loaded->artifact_.procedures) {
    procedure.module = {};
    procedure.codes = {};
  }
  TERCEL_TRY(loaded->placeGlobals());
  return std::shared_ptr<const LoadedArtifact>(std::move(loaded));
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to load a program");
}

Status LoadedArtifact::wrapProgram(program::HeldBytes file) {
  TERCEL_ASSIGN(program::Program code, program::deserialize(file.bytes));
  artifact_.name = code.name;
  artifact_.targets = {code.target_cpu};
  program::Procedure main;
  main.name = "main";
  for (const program::Argument& argument : code.arguments) {
    main.arguments.push_back({cat("argument", main.arguments.size()),
                              ArrayType(argument.shape, argument.layout).inMemory()});
  }
  for (const program::ResultInfo& result : code.results) {
    main.results.push_back({cat("result", main.results.size()),
                            ArrayType(result.shape, result.layout).inMemory()});
  }
  artifact_.procedures.push_back(std::move(main));
  TERCEL_ASSIGN(auto loaded, LoadedProgram::load(std::move(code)));
  procedures_.push_back({"main", std::move(loaded)});
  return Status();
}

Status readWeights(program::Artifact& artifact, const std::string& path) {
  if (!artifact.has_side_file) {
    if (path.empty()) return Status();
    return invalidArgument(artifact.name, " has its weights inside, and not in ", path);
  }
  if (path.empty()) {
    return invalidArgument(artifact.name, " keeps its weights in a file of their own, and its "
                           "path (weights, or --weights) was not given");
  }
  TERCEL_ASSIGN(artifact.data, program::mapFile(path));
  return program::checkData(artifact).within(path);
}

Status LoadedArtifact::loadCode() {
  Status unfit = failedPrecondition(artifact_.name, " has no code for any CPU");
  for (target_ = 0; target_ < artifact_.targets.size(); ++target_) {
    Status status = loadProcedures(target_);
    if (status.code() != Code::failed_precondition) return status;
    unfit = std::move(status);
  }
  return unfit;
}

Status LoadedArtifact::loadProcedures(size_t target) {
  procedures_.clear();
  for (const program::Procedure& procedure : artifact_.procedures) {
    const std::string name = program::fullName(procedure);
    TERCEL_ASSIGN(program::Program code, programOf(procedure.codes[target]));
    TERCEL_TRY(checkInterface(procedure, code).within(cat("procedure ", name)));
    LoadOptions options;
    options.shared = program::sharedOf(artifact_);
    Result<std::shared_ptr<LoadedProgram>> loaded = LoadedProgram::load(std::move(code), options);
    if (!loaded.ok()) return loaded.status().within(cat("procedure ", name));
    procedures_.push_back({name, std::move(*loaded)});
  }
  return Status();
}

// The engine trusts the artifact's shapes when it checks buffers: they must be the code's.
Status LoadedArtifact::checkInterface(const program::Procedure& procedure,
                                      const program::Program& code) const {
  const size_t used = procedure.used.size(), results = procedure.results.size();
  if (code.arguments.size() != used + procedure.arguments.size() ||
      code.results.size() != results + procedure.stored.size()) {
    return invalidArgument("its code has other numbers of arguments and results");
  }
  for (size_t i = 0; i < code.arguments.size(); ++i) {
    const bool is_global = i < used;
    const Shape& wanted = is_global ? artifact_.globals[procedure.used[i]].shape
                                    : procedure.arguments[i - used].shape;
    TERCEL_TRY(checkShapes(cat("argument ", i), wanted, code.arguments[i].shape));
    // A value is overwritten only where its global is stored.
    const int32_t alias = code.arguments[i].aliased_result;
    if (alias < 0) continue;
    const size_t place = static_cast<size_t>(alias);
    if (!is_global || place < results || procedure.stored[place - results] != procedure.used[i]) {
      return invalidArgument("argument ", i, " shares memory with result ", place);
    }
  }
  for (size_t i = 0; i < code.results.size(); ++i) {
    const Shape& wanted = i < results ? procedure.results[i].shape
                                      : artifact_.globals[procedure.stored[i - results]].shape;
    TERCEL_TRY(checkShapes(cat("result ", i), wanted, code.results[i].shape));
  }
  return Status();
}

Status LoadedArtifact::placeGlobals() {
  constexpr int64_t kMost = int64_t{1} << 62;
  for (const program::Global& global : artifact_.globals) {
    offsets_.push_back(globals_bytes_);
    if (!global.is_mutable && global.is_initialized) continue;
    const int64_t bytes = roundUp(global.shape.bytes());
    if (bytes > kMost - globals_bytes_) {
      return invalidArgument("the globals of ", artifact_.name, " do not fit into any memory");
    }
    globals_bytes_ += bytes;
  }
  for (const Procedure& procedure : procedures_) {
    arena_bytes_ = std::max(arena_bytes_, roundUp(procedure.code->program().arena_bytes));
    scratch_bytes_ = std::max(scratch_bytes_, roundUp(procedure.code->scratchBytes()));
  }
  return Status();
}

Result<program::Program> readProgram(std::span<const std::byte> file) {
  if (!program::isArtifact(file)) return program::deserialize(file);
  TERCEL_ASSIGN(const program::Artifact artifact, program::deserializeArtifact({nullptr, file}));
  if (artifact.procedures.size() != 1) {
    return invalidArgument(artifact.name, " has ", artifact.procedures.size(),
                           " procedures: only one that has a single one is a program");
  }
  Status unfit = failedPrecondition(artifact.name, " has no code for any CPU");
  for (const program::Packed& code : artifact.procedures[0].codes) {
    TERCEL_ASSIGN(program::Program program, programOf(code));
    unfit = checkCpu(program.architecture, program.target_features);
    if (!unfit.ok()) continue;
    const std::span<const std::byte> shared = program::sharedOf(artifact);
    if (program.shared_bytes > static_cast<int64_t>(shared.size()))
      return invalidArgument(artifact.name, " keeps its constants in another file");
    program::takeShared(shared, program);
    return program;
  }
  return unfit;
}

}  // namespace tercel::engine
