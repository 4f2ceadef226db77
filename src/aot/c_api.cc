// tercel_aot.h over ArtifactBuilder and saveLibrary.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "aot/artifact_builder.h"
#include "aot/library.h"
#include "program/files.h"
#include "program/tercel_aot.h"
#include "runtime/engine/c_interface.h"
#include "runtime/engine/loaded_artifact.h"

namespace aot = tercel::aot;
namespace program = tercel::program;
using tercel::Code;
using tercel::Status;
using tercel::engine::guarded;
using tercel::engine::ownCopy;

struct tercel_artifact {
  explicit tercel_artifact(aot::ArtifactBuilder made) : builder(std::move(made)) {}
  aot::ArtifactBuilder builder;
};

namespace {

std::string textOf(const char* text) { return text ? text : ""; }

tercel::Result<tercel::Shape> shapeOf(tercel_dtype dtype, int32_t rank, const int64_t* dims) {
  const bool is_dtype = static_cast<size_t>(dtype) < tercel::kDTypeCount;
  if (!is_dtype || rank < 0 || (rank > 0 && !dims)) {
    return tercel::invalidArgument("bad dtype, rank or dims");
  }
  tercel::Shape shape;
  shape.dtype = static_cast<tercel::DType>(dtype);
  for (int32_t i = 0; i < rank; ++i) shape.dims.push_back(dims[i]);
  if (!tercel::sizeIsRepresentable(shape.dims, tercel::byteSize(shape.dtype))) {
    return tercel::invalidArgument("impossible shape ", toString(shape));
  }
  return shape;
}

Status checkList(const char* what, size_t count, const void* list) {
  if (list || count == 0) return Status();
  return tercel::invalidArgument(count, " ", what, ", and no list of them");
}

Status checkLists(const tercel_procedure_spec& spec) {
  TERCEL_TRY(checkList("used globals", spec.num_used, spec.used));
  TERCEL_TRY(checkList("stored globals", spec.num_stored, spec.stored));
  TERCEL_TRY(checkList("arguments", spec.num_arguments, spec.arguments));
  TERCEL_TRY(checkList("results", spec.num_results, spec.results));
  TERCEL_TRY(checkList("shapes", spec.num_shapes, spec.shapes));
  return checkList("bytes of a module", spec.module_size, spec.module);
}

tercel::Result<std::vector<program::NamedValue>> valuesOf(size_t count,
                                                          const tercel_value_spec* specs) {
  std::vector<program::NamedValue> values;
  for (size_t i = 0; i < count; ++i) {
    TERCEL_ASSIGN(tercel::Shape shape, shapeOf(specs[i].dtype, specs[i].rank, specs[i].dims));
    values.push_back({textOf(specs[i].name), std::move(shape)});
  }
  return values;
}

tercel::Result<tercel::compiler::GivenArguments> givenOf(const tercel_procedure_spec& spec) {
  tercel::compiler::GivenArguments arguments;
  if (spec.platform) arguments.platform = *spec.platform;
  for (size_t i = 0; i < spec.num_shapes; ++i) {
    const tercel_shape_spec& given = spec.shapes[i];
    if (given.rank < 0) {
      arguments.dims.emplace_back();
      continue;
    }
    TERCEL_ASSIGN(const tercel::Shape shape, shapeOf(TERCEL_PRED, given.rank, given.dims));
    arguments.dims.emplace_back(shape.dims);
  }
  return arguments;
}

std::vector<uint32_t> numbers(size_t count, const int32_t* from) {
  return std::vector<uint32_t>(from, from + count);  // a negative one is out of range
}

tercel::Result<program::Procedure> procedureOf(const tercel_procedure_spec& spec) {
  TERCEL_TRY(checkLists(spec));
  program::Procedure procedure;
  procedure.name = textOf(spec.name);
  procedure.signature = textOf(spec.signature);
  procedure.tree = textOf(spec.tree);
  const auto* module = static_cast<const std::byte*>(spec.module);
  procedure.module.assign(module, module + spec.module_size);
  procedure.used = numbers(spec.num_used, spec.used);
  procedure.stored = numbers(spec.num_stored, spec.stored);
  TERCEL_ASSIGN(procedure.arguments, valuesOf(spec.num_arguments, spec.arguments));
  TERCEL_ASSIGN(procedure.results, valuesOf(spec.num_results, spec.results));
  return procedure;
}

// The folder `aot` beside the library that this code is in.
std::string defaultRuntimeFolder() {
  return program::folderOf(reinterpret_cast<void*>(&tercel_artifact_create)) + "aot";
}

tercel::Result<std::vector<std::byte>> bytesOf(const aot::ArtifactBuilder& builder) {
  TERCEL_ASSIGN(const program::Artifact finished, builder.finish());
  return program::serializeArtifact(finished);
}

// f(builder).
template <class Artifact, class F>
int ofArtifact(Artifact* artifact, F&& f) {
  return guarded([&]() -> Status {
    if (!artifact) return tercel::invalidArgument("no artifact");
    return f(artifact->builder);
  });
}

}  // namespace

int tercel_artifact_create(const char* name, tercel_artifact** artifact) {
  return guarded([&]() -> Status {
    if (!artifact) return tercel::invalidArgument("no place for the artifact");
    *artifact = new tercel_artifact(aot::ArtifactBuilder(textOf(name)));
    return Status();
  });
}

int tercel_artifact_parse(const void* bytes, size_t size, const char* weights_path,
                          tercel_artifact** artifact) {
  return guarded([&]() -> Status {
    if (!artifact || !bytes) return tercel::invalidArgument("no bytes, or no place");
    *artifact = nullptr;
    const auto* first = static_cast<const std::byte*>(bytes);
    TERCEL_ASSIGN(program::Artifact parsed,
                  program::deserializeArtifact({nullptr, {first, size}}));
    TERCEL_TRY(tercel::engine::readWeights(parsed, textOf(weights_path)));
    *artifact = new tercel_artifact(aot::ArtifactBuilder(std::move(parsed)));
    return Status();
  });
}

void tercel_artifact_destroy(tercel_artifact* artifact) { delete artifact; }

int tercel_artifact_set_tree(tercel_artifact* artifact, const char* tree) {
  return ofArtifact(artifact, [&](aot::ArtifactBuilder& builder) {
    builder.setTree(textOf(tree));
    return Status();
  });
}

int tercel_artifact_add_global(tercel_artifact* artifact, const tercel_global_spec* spec) {
  return ofArtifact(artifact, [&](aot::ArtifactBuilder& builder) -> Status {
    if (!spec) return tercel::invalidArgument("no global");
    TERCEL_ASSIGN(const tercel_global_spec own, ownCopy(spec));
    program::Global global;
    global.name = textOf(own.name);
    global.is_mutable = own.is_mutable != 0;
    TERCEL_ASSIGN(global.shape, shapeOf(own.dtype, own.rank, own.dims));
    const auto* data = static_cast<const std::byte*>(own.data);
    const size_t bytes = data ? static_cast<size_t>(global.shape.bytes()) : 0;
    return builder.addGlobal(std::move(global), {data, bytes});
  });
}

int tercel_artifact_add_procedure(tercel_artifact* artifact, const tercel_procedure_spec* spec) {
  return ofArtifact(artifact, [&](aot::ArtifactBuilder& builder) -> Status {
    if (!spec) return tercel::invalidArgument("no procedure");
    TERCEL_ASSIGN(const tercel_procedure_spec own, ownCopy(spec));
    TERCEL_ASSIGN(program::Procedure procedure, procedureOf(own));
    if (own.arguments || own.results) return builder.addProcedure(std::move(procedure));
    TERCEL_ASSIGN(const tercel::compiler::GivenArguments given, givenOf(own));
    if (own.platform) procedure.platform = *own.platform;
    return builder.addProcedure(std::move(procedure), &given);
  });
}

int tercel_artifact_set_optimization_level(tercel_artifact* artifact, int32_t level) {
  return ofArtifact(artifact, [&](aot::ArtifactBuilder& builder) {
    return builder.setOptimizationLevel(level);
  });
}

int tercel_artifact_set_num_threads(tercel_artifact* artifact, int32_t num_threads) {
  return ofArtifact(artifact, [&](aot::ArtifactBuilder& builder) {
    return builder.setNumThreads(num_threads);
  });
}

int tercel_artifact_compile(tercel_artifact* artifact, const char* targets) {
  return ofArtifact(artifact, [&](aot::ArtifactBuilder& builder) {
    return builder.compile(textOf(targets));
  });
}

int tercel_artifact_serialize(const tercel_artifact* artifact, void** bytes, size_t* size) {
  return ofArtifact(artifact, [&](const aot::ArtifactBuilder& builder) -> Status {
    if (!bytes || !size) return tercel::invalidArgument("no place for the bytes or their number");
    TERCEL_ASSIGN(const std::vector<std::byte> file, bytesOf(builder));
    void* copy = std::malloc(file.size());
    if (!copy) return tercel::resourceExhausted("no memory for an artifact");
    std::memcpy(copy, file.data(), file.size());
    *bytes = copy;
    *size = file.size();
    return Status();
  });
}

void tercel_free(void* bytes) { std::free(bytes); }

int tercel_artifact_save(const tercel_artifact* artifact, const char* path) {
  return ofArtifact(artifact, [&](const aot::ArtifactBuilder& builder) -> Status {
    if (!path) return tercel::invalidArgument("no path");
    TERCEL_ASSIGN(const std::vector<std::byte> file, bytesOf(builder));
    return program::writeFile(path, file);
  });
}

int tercel_artifact_save_apart(const tercel_artifact* artifact, const char* path,
                               const char* weights_path) {
  return ofArtifact(artifact, [&](const aot::ArtifactBuilder& builder) -> Status {
    if (!path || !weights_path) return tercel::invalidArgument("no path");
    if (std::strcmp(path, weights_path) == 0)
      return tercel::invalidArgument("the weights and the program cannot both be written to ", path);
    TERCEL_ASSIGN(program::Artifact finished, builder.finish());
    finished.has_side_file = true;
    const std::vector<std::byte> file = program::serializeArtifact(finished);
    TERCEL_TRY(program::writeFile(weights_path, finished.data.bytes));
    return program::writeFile(path, file);
  });
}

int tercel_artifact_save_library(const tercel_artifact* artifact, const char* directory,
                                 const tercel_library_options* options) {
  return ofArtifact(artifact, [&](const aot::ArtifactBuilder& builder) -> Status {
    if (!directory) return tercel::invalidArgument("no folder");
    TERCEL_ASSIGN(const tercel_library_options own, ownCopy(options));
    TERCEL_ASSIGN(program::Artifact finished, builder.finish());
    aot::LibraryOptions to;
    to.side_file = own.side_file != 0;
    to.runtime_folder = own.runtime_directory ? own.runtime_directory : defaultRuntimeFolder();
    return aot::saveLibrary(std::move(finished), directory, to);
  });
}
