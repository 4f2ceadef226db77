#include "aot/artifact_builder.h"

#include <algorithm>

#include "aot/pack.h"
#include "program/aligned_bytes.h"
#include "program/file_header.h"
#include "program/format.h"
#include "runtime/engine/run_once.h"
#include "runtime/engine/subnormals.h"
#include "runtime/linalg/functions.h"

namespace tercel::aot {
using compiler::GivenArguments;
namespace {

// What runs without Python: nothing that lives in it. Targets that are not JAX's are for the host's
// hook.
bool canLeavePython(std::string_view target) {
  return !target.starts_with("lapack_") || linalg::find(target);
}

Status checkTypes(const ir::Module& module, const ir::Values& values, size_t first,
                  const std::vector<program::NamedValue>& wanted, const char* role) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const ir::Type& type = module.type(values[first + i]);
    if (!type.is_token && type.shape == wanted[i].shape) continue;
    return invalidArgument(role, " ", wanted[i].name, " is ", toString(wanted[i].shape),
                           " and the module's main has ",
                           type.is_token ? "a token" : toString(type.shape), " there");
  }
  return Status();
}

std::vector<program::NamedValue> globalsOf(const program::Artifact& artifact,
                                           const std::vector<uint32_t>& numbers) {
  std::vector<program::NamedValue> values;
  for (uint32_t number : numbers) {
    values.push_back({artifact.globals[number].name, artifact.globals[number].shape});
  }
  return values;
}

Status checkMain(const program::Artifact& artifact, const program::Procedure& procedure,
                 const ir::Module& module) {
  const ir::Region& body = module.region(module.main().body);
  const size_t used = procedure.used.size(), stored = procedure.stored.size();
  if (body.args.size() != used + procedure.arguments.size() ||
      body.results.size() != procedure.results.size() + stored) {
    return invalidArgument("the module's main has ", body.args.size(), " arguments and ",
                           body.results.size(), " results, where ", used, " globals and ",
                           procedure.arguments.size(), " arguments come in and ",
                           procedure.results.size(), " results and ", stored, " globals go out");
  }
  TERCEL_TRY(checkTypes(module, body.args, 0, globalsOf(artifact, procedure.used), "global"));
  TERCEL_TRY(checkTypes(module, body.args, used, procedure.arguments, "argument"));
  TERCEL_TRY(checkTypes(module, body.results, 0, procedure.results, "result"));
  return checkTypes(module, body.results, procedure.results.size(),
                    globalsOf(artifact, procedure.stored), "stored global");
}

// Also of a module that leaves nothing open.
Status checkGiven(const ir::Module& module, const std::vector<std::optional<Dims>>& given) {
  const ir::Region& body = module.region(module.main().body);
  if (given.size() > body.args.size()) {
    return invalidArgument("shapes for ", given.size(), " arguments, where main has ",
                           body.args.size());
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const Shape& shape = module.shape(body.args[i]);
    if (!given[i] || *given[i] == shape.dims) continue;
    return invalidArgument("argument", i, " of main is ", toString(shape), ", which cannot be ",
                           toString(Shape{shape.dtype, *given[i]}));
  }
  return Status();
}

// Main's arguments and results, but for globals.
void nameValues(const ir::Module& module, program::Procedure& procedure) {
  const ir::Region& body = module.region(module.main().body);
  const size_t results = body.results.size() - std::min(body.results.size(),
                                                        procedure.stored.size());
  for (size_t i = procedure.used.size(); i < body.args.size(); ++i) {
    procedure.arguments.push_back({cat("argument", procedure.arguments.size()),
                                   module.shape(body.args[i])});
  }
  for (size_t i = 0; i < results; ++i) {
    procedure.results.push_back({cat("result", i), module.shape(body.results[i])});
  }
}

// Of main's arguments, all of which the procedure knows.
GivenArguments givenOf(const program::Artifact& artifact, const program::Procedure& procedure) {
  GivenArguments given;
  if (procedure.platform >= 0) given.platform = procedure.platform;
  for (const auto& list : {globalsOf(artifact, procedure.used), procedure.arguments}) {
    for (const program::NamedValue& value : list) given.dims.push_back(value.shape.dims);
  }
  return given;
}

Result<ir::Module> readModule(const program::Procedure& procedure, const GivenArguments& given) {
  TERCEL_ASSIGN(ir::Module module, compiler::readRowMajor(procedure.module, given));
  const ir::Function* main = module.find("main");
  if (main && main->is_public) return module;
  return invalidArgument("the module has no public function main");
}

// A global that is used and stored is updated in place; nothing else is.
void shareStoredGlobals(const program::Procedure& procedure, ir::Module& module) {
  std::vector<ir::ArgInfo>& args = module.main().args;
  for (size_t i = 0; i < args.size(); ++i) {
    args[i].aliasing_output = -1;
    args[i].buffer_donor = false;
    if (i >= procedure.used.size()) continue;
    auto at = std::ranges::find(procedure.stored, procedure.used[i]);
    if (at == procedure.stored.end()) continue;
    args[i].aliasing_output =
        static_cast<int64_t>(procedure.results.size() + (at - procedure.stored.begin()));
  }
}

// A Program file for each target.
Result<std::vector<program::Packed>> compileProcedure(
    const program::Artifact& artifact, const program::Procedure& procedure,
    const std::vector<std::string>& targets, int optimization_level, SharedConstants& shared) {
  TERCEL_ASSIGN(ir::Module module, readModule(procedure, givenOf(artifact, procedure)));
  TERCEL_TRY(checkMain(artifact, procedure, module));
  shareStoredGlobals(procedure, module);
  std::vector<program::Packed> codes;
  for (const std::string& target : targets) {
    compiler::CompileOptions options;
    options.target = target;
    options.optimization_level = optimization_level;
    options.can_call = canLeavePython;
    options.run = engine::runOnce;
    TERCEL_ASSIGN(program::Program code, compiler::compileModule(module, options));
    shared.take(code);
    codes.push_back(pack(program::serialize(code)));
  }
  return codes;
}

// Other architectures' and "native" before all, then x86-64-v4 before x86-64-v2: what a machine
// says of a program that it cannot run is what it says of the last.
Result<std::vector<std::string>> targetList(std::string_view text) {
  std::vector<std::string> targets;
  while (!text.empty()) {
    const std::string_view target = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), target.size() + 1));
    if (target.empty() || std::ranges::find(targets, target) != targets.end()) {
      return invalidArgument("the targets are to be names with commas between them, each once");
    }
    targets.emplace_back(target);
  }
  if (targets.empty()) return invalidArgument("no target to compile for");
  auto rank = [](const std::string& target) {
    return target == toString(Architecture::aarch64) ? 0 : target.starts_with("x86-64") ? 2 : 1;
  };
  std::ranges::sort(targets, [&](const std::string& a, const std::string& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a > b;
  });
  return targets;
}

}  // namespace

ArtifactBuilder::ArtifactBuilder(program::Artifact artifact) : artifact_(std::move(artifact)) {
  const std::span<const std::byte> data = artifact_.data.bytes;
  shared_ = SharedConstants(program::sharedOf(artifact_));
  data_.assign(data.begin(), data.end() - static_cast<ptrdiff_t>(shared_.bytes().size()));
  artifact_.data = {};
}

Status ArtifactBuilder::addGlobal(program::Global global, std::span<const std::byte> data) {
  global.is_initialized = !data.empty() || global.shape.bytes() == 0;
  if (global.is_initialized && data.size() != static_cast<size_t>(global.shape.bytes())) {
    return invalidArgument("global ", global.name, " is ", toString(global.shape), ", ",
                           global.shape.bytes(), " bytes; ", data.size(), " were given");
  }
  data_.resize(program::alignedSize(data_.size()));
  global.offset = static_cast<int64_t>(data_.size());
  data_.insert(data_.end(), data.begin(), data.end());
  artifact_.globals.push_back(std::move(global));
  return Status();
}

Status ArtifactBuilder::addProcedure(program::Procedure procedure, const GivenArguments* unnamed) {
  const std::string place = cat("procedure ", program::fullName(procedure));
  for (const auto* list : {&procedure.used, &procedure.stored}) {
    for (uint32_t global : *list) {
      if (global >= artifact_.globals.size()) {
        return invalidArgument(place, ": there is no global ", global);
      }
    }
  }
  Result<ir::Module> module =
      readModule(procedure, unnamed ? *unnamed : givenOf(artifact_, procedure));
  if (!module.ok()) return module.status().within(place);
  if (unnamed) {
    TERCEL_TRY(checkGiven(*module, unnamed->dims).within(place));
    nameValues(*module, procedure);
  }
  TERCEL_TRY(checkMain(artifact_, procedure, *module).within(place));
  dropCode();
  artifact_.procedures.push_back(std::move(procedure));
  return Status();
}

void ArtifactBuilder::dropCode() {
  artifact_.targets.clear();
  shared_.clear();
  for (program::Procedure& procedure : artifact_.procedures) procedure.codes.clear();
}

Status ArtifactBuilder::setNumThreads(int32_t num_threads) {
  TERCEL_TRY(program::checkNumThreads(num_threads));
  artifact_.num_threads = num_threads;
  return Status();
}

Status ArtifactBuilder::setOptimizationLevel(int level) {
  if (level < 0 || level > 3) {
    return invalidArgument("the optimization level is to be 0, 1, 2 or 3, not ", level);
  }
  dropCode();
  optimization_level_ = level;
  return Status();
}

Status ArtifactBuilder::compile(std::string_view targets) {
  const engine::SubnormalScope scope(engine::Subnormals::keep);  // whatever the host computes with
  dropCode();
  TERCEL_ASSIGN(const std::vector<std::string> list, targetList(targets));
  for (program::Procedure& procedure : artifact_.procedures) {
    auto codes = compileProcedure(artifact_, procedure, list, optimization_level_, shared_);
    if (!codes.ok()) return codes.status().within(cat("procedure ", program::fullName(procedure)));
    procedure.codes = std::move(*codes);
  }
  artifact_.targets = list;
  return Status();
}

Result<program::Artifact> ArtifactBuilder::finish() const {
  program::Artifact artifact = artifact_;
  auto data = std::make_shared<program::AlignedBytes>(data_.begin(), data_.end());
  artifact.shared_offset = program::alignedSize(data_.size());
  data->resize(artifact.shared_offset);
  data->insert(data->end(), shared_.bytes().begin(), shared_.bytes().end());
  artifact.data = {data, *data};
  artifact.data_bytes = data->size();
  artifact.data_hash = program::hashBytes(*data);
  artifact.has_side_file = false;
  if (artifact.targets.empty()) return failedPrecondition(artifact.name, " was not compiled");
  TERCEL_TRY(program::validateArtifact(artifact));
  return artifact;
}

}  // namespace tercel::aot
