// tercel-aot: StableHLO to an artifact or a library, without Python. The compiler is the plugin's,
// which lies in the folder above.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "program/artifact.h"
#include "program/tercel_aot.h"
#include "tools/command_line.h"
#include "tools/exported_file.h"
#include "tools/open_sizes.h"

namespace tercel::tools {
namespace {

constexpr char kUsage[] = R"(usage: tercel-aot FILE -o FOLDER [FLAG...]    (- is standard input)

FILE is a StableHLO portable artifact, what jax.export wrote for cpu (alone or among
others), or an artifact that tercel.aot saved. FOLDER gets a library: NAME.so, NAME.a, NAME.h, NAME.hpp and NAME.cmake.

  --name=NAME          of the program of a StableHLO file (default: the file's)
  --procedure=NAME     of its one procedure (default: run)
  --size=NAME=N[,N...] of a symbolic dimension of a jax.export file; several sizes make several
                       signatures: --size=b=1,8 makes run_b1 and run_b8
  --shape=ARGUMENT=DIMS[,DIMS...]
                       of an argument of a StableHLO file whose dimensions are open, as
                       --shape=argument0=8x4; of several arguments, the first shapes go together
  --targets=LIST       native (the default), aarch64, or CPU levels as x86-64-v2,x86-64-v3,x86-64-v4
  --optimization-level=N
                       0 to 3 (default: 2, which is the plugin's)
  --num-threads=N      of instances that do not say, the caller's included (default: 1)
  --artifact=PATH      write the artifact too
  --weights=FILE       the side file of an artifact that was saved with one
  --side-file          keep the globals' values in NAME.weights, of the artifact PATH.weights
)";

constexpr char kNoTargets[] = "-";

struct Request {
  static constexpr int64_t kUnset = INT64_MIN;
  std::string file, folder, name, procedure, targets, artifact, weights;
  SizeFlags sizes;
  bool side_file = false;
  int64_t optimization_level = kUnset, num_threads = kUnset;
};

Result<Request> parse(CommandLine& line) {
  Request request;
  request.folder = line.value("output");
  request.name = line.value("name");
  request.procedure = line.value("procedure");
  request.targets = line.value("targets", kNoTargets);
  if (request.targets.empty()) return invalidArgument("--targets= names none; see --help");
  if (request.targets == kNoTargets) request.targets.clear();
  request.artifact = line.value("artifact");
  request.weights = line.value("weights");
  request.side_file = line.flag("side-file");
  request.sizes = sizeFlags(line);
  TERCEL_ASSIGN(request.optimization_level, line.number("optimization-level", Request::kUnset));
  TERCEL_ASSIGN(request.num_threads, line.number("num-threads", Request::kUnset));
  TERCEL_TRY(line.unknownFlag());
  if (line.words().size() != 1) return invalidArgument("name one file; see --help");
  if (request.folder.empty() && request.artifact.empty()) {
    return invalidArgument("name a folder for the library, -o FOLDER, or an --artifact");
  }
  request.file = line.words()[0];
  return request;
}

std::string nameOf(const Request& request) {
  if (!request.name.empty()) return request.name;
  const std::string stem = std::filesystem::path(request.file).stem().string();
  std::string name;
  for (const char c : stem == "-" ? "program" : stem)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

// The plugin's functions, looked up by name.
class Plugin {
 public:
  static Result<Plugin> open() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::string path =
        (self.parent_path().parent_path() / "pjrt_plugin_tercel.so").string();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return Status(Code::not_found, cat("cannot open the compiler: ", dlerror()));
    return Plugin(library);
  }
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  Status check(int code) const {
    if (code == TERCEL_OK) return Status();
    return Status(static_cast<Code>(code),
                  find<decltype(tercel_error_message)>("tercel_error_message")());
  }

 private:
  explicit Plugin(void* library) : library_(library) {}
  void* library_;
};
#define CALL(plugin, function, ...) \
  (plugin).check((plugin).find<decltype(function)>(#function)(__VA_ARGS__))

// What is out of range stays so.
int32_t number(int64_t given) {
  return static_cast<int32_t>(std::clamp<int64_t>(given, INT32_MIN, INT32_MAX));
}

Status compile(const Plugin& plugin, const Request& request, tercel_artifact* artifact) {
  if (request.optimization_level != Request::kUnset) {
    TERCEL_TRY(CALL(plugin, tercel_artifact_set_optimization_level, artifact,
                    number(request.optimization_level)));
  }
  const std::string targets = request.targets.empty() ? "native" : request.targets;
  return CALL(plugin, tercel_artifact_compile, artifact, targets.c_str());
}

Status addProcedure(const Plugin& plugin, const Request& request,
                    const ExportedFile& exported, const Signature& signature,
                    tercel_artifact* artifact) {
  std::vector<tercel_shape_spec> shapes;
  for (const std::optional<Dims>& dims : signature.dims) {
    const int32_t rank = dims ? static_cast<int32_t>(dims->size()) : -1;
    shapes.push_back({rank, dims ? dims->begin() : nullptr});
  }
  tercel_procedure_spec spec = {};
  spec.struct_size = sizeof(spec);
  spec.name = request.procedure.empty() ? "run" : request.procedure.c_str();
  spec.signature = signature.text.c_str();
  spec.module = exported.module.data();
  spec.module_size = exported.module.size();
  spec.num_shapes = shapes.size();
  spec.shapes = shapes.data();
  spec.platform = exported.platform ? &*exported.platform : nullptr;
  Status status = CALL(plugin, tercel_artifact_add_procedure, artifact, &spec);
  if (status.code() != Code::failed_precondition) return status;
  return status.within("a shape is missing, as --shape=argument0=8x4 gives it");
}

Result<tercel_artifact*> makeArtifact(const Plugin& plugin, const Request& request) {
  TERCEL_ASSIGN(std::vector<std::byte> file, readFile(request.file));
  tercel_artifact* artifact = nullptr;
  if (program::isArtifact(file)) {
    if (!request.name.empty() || !request.procedure.empty()) {
      return invalidArgument("an artifact has its names: --name and --procedure are for StableHLO");
    }
    TERCEL_TRY(CALL(plugin, tercel_artifact_parse, file.data(), file.size(),
                    request.weights.c_str(), &artifact));
    if (!request.targets.empty()) {
      TERCEL_TRY(compile(plugin, request, artifact));
    } else if (!request.sizes.sizes.empty() || !request.sizes.shapes.empty()) {
      return invalidArgument("an artifact has its sizes: --size and --shape are for StableHLO");
    } else if (request.optimization_level != Request::kUnset) {
      return invalidArgument("an artifact is compiled already: name the --targets, too");
    }
    return artifact;
  }
  if (!request.weights.empty()) {
    return invalidArgument("--weights is for artifacts, and ", request.file, " is none");
  }
  TERCEL_ASSIGN(const ExportedFile exported, readExported(std::move(file)));
  TERCEL_ASSIGN(const auto signatures, signaturesOf(exported.arguments, request.sizes));
  TERCEL_TRY(CALL(plugin, tercel_artifact_create, nameOf(request).c_str(), &artifact));
  for (const Signature& signature : signatures) {
    TERCEL_TRY(addProcedure(plugin, request, exported, signature, artifact));
  }
  TERCEL_TRY(compile(plugin, request, artifact));
  return artifact;
}

Status run(CommandLine line) {
  if (line.flag("help")) return std::fputs(kUsage, stdout), Status();
  TERCEL_ASSIGN(const Request request, parse(line));
  TERCEL_ASSIGN(const Plugin plugin, Plugin::open());
  TERCEL_ASSIGN(tercel_artifact* artifact, makeArtifact(plugin, request));
  if (request.num_threads != Request::kUnset) {
    TERCEL_TRY(CALL(plugin, tercel_artifact_set_num_threads, artifact,
                    number(request.num_threads)));
  }
  if (!request.artifact.empty()) {
    const std::string weights = request.artifact + ".weights";
    TERCEL_TRY(request.side_file
                   ? CALL(plugin, tercel_artifact_save_apart, artifact, request.artifact.c_str(),
                          weights.c_str())
                   : CALL(plugin, tercel_artifact_save, artifact, request.artifact.c_str()));
  }
  if (request.folder.empty()) return Status();
  tercel_library_options options = {};
  options.struct_size = sizeof(options);
  options.side_file = request.side_file;
  return CALL(plugin, tercel_artifact_save_library, artifact, request.folder.c_str(), &options);
}

}  // namespace
}  // namespace tercel::tools

int main(int argc, char** argv) {
  using namespace tercel;
  return tools::runTool("tercel-aot", tools::run, tools::CommandLine(argc, argv));
}
